#include "tests/simulator/sim_backend.hpp"

#include <utility>

#include "simco/wire/assert.hpp"

namespace simco::simulator {

using rule::ChangeResult;
using rule::RuleChange;

std::vector<ChangeResult> SimBackend::begin(std::span<const RuleChange> rules) {
  table_.clear();
  refused_at_start_.clear();
  std::vector<ChangeResult> results;
  for (const auto& change : rules) {
    const bool refused = !reliable_ && random_.one_in(100);
    results.push_back(refused ? ChangeResult::kRefused : ChangeResult::kDone);
    if (refused) {
      refused_at_start_.insert(change.rule().pid.value);
    } else {
      enforce(change);
    }
  }
  return results;
}

void SimBackend::apply(std::span<const RuleChange> batch, Client& client) {
  SIMCO_ASSERT(client_ == nullptr && !batch.empty());
  batch_ = batch;
  client_ = &client;
  if (prompt_) return finish();
  const auto number = ++batches_;
  time_.after(random_.up_to_ms(30), [this, number] {
    if (number == batches_ && client_ != nullptr) finish();
  });
}

void SimBackend::finish() {
  std::vector<ChangeResult> results;
  for (const auto& change : batch_) results.push_back(carry_out(change));
  std::exchange(client_, nullptr)->on_applied(results);
}

bool SimBackend::refuses() {
  if (reliable_) return false;
  if (refuses_ == 0 && random_.one_in(100)) refuses_ = 1 + random_.below(10);
  return refuses_ != 0 && refuses_-- != 0 && random_.one_in(2);
}

ChangeResult SimBackend::carry_out(const RuleChange& change) {
  if (!refuses()) {
    enforce(change);
    return ChangeResult::kDone;
  }
  const auto& rule = change.rule();
  if (change.kind == RuleChange::Kind::kAdd) {
    refused_tids_.insert(rule.creating_tid.value);
  } else {
    refused_pids_.insert(rule.pid.value);
    if (change.kind == RuleChange::Kind::kRemove) refused_removals_.insert(rule.pid.value);
  }
  return random_.one_in(2) ? ChangeResult::kRefused : ChangeResult::kNoResources;
}

void SimBackend::enforce(const RuleChange& change) {
  const auto pid = change.rule().pid.value;
  const bool is_new = change.kind == RuleChange::Kind::kAdd;
  SIMCO_ASSERT(is_new != table_.contains(pid));
  if (change.kind == RuleChange::Kind::kRemove) {
    table_.erase(pid);
  } else {
    table_.insert_or_assign(pid, Enforced{change.after, std::string(change.after.owner_name)});
  }
}

void SimBackend::crash() {
  if (client_ == nullptr) return;
  client_ = nullptr;
  for (const auto& change : batch_) {
    if (random_.one_in(2)) enforce(change);
  }
}

}  // namespace simco::simulator
