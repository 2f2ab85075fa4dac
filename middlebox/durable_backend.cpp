#include "middlebox/durable_backend.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "middlebox/limits.hpp"
#include "middlebox/metrics.hpp"
#include "middlebox/rule_codec.hpp"

namespace simco::middlebox {
namespace {

using backend::ChangeResult;
using backend::RuleChange;
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::int64_t wall_now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

bool is_removal(const RuleChange& change) { return change.kind == RuleChange::Kind::kRemove; }

/// A rule of an earlier life that may go on.
struct Survivor {
  KeptRule kept;
  std::uint64_t age;  ///< identifiers handed out since its own
};

}  // namespace

DurableBackend::DurableBackend(boost::asio::io_context& io, backend::Backend& inner,
                               store::Store& store, policy::PolicyEngine& engine, Metrics* metrics)
    : io_(io), inner_(inner), store_(store), engine_(engine), metrics_(metrics), retry_(io) {}

DurableBackend::~DurableBackend() {
  if (thread_ && !owed_.empty()) keep({}, {});
}

// --- The start -----------------------------------------------------------------------------------

DurableBackend::Restored DurableBackend::restore() {
  const auto contents = store_.open();
  engine_.resume_ids({contents.counters.next_pid, contents.counters.next_gid});
  const std::int64_t now_ms = wall_now_ms();
  const Instant now = std::chrono::steady_clock::now();
  Restored restored;
  std::vector<store::Entry> forgotten;
  const auto lose = [&](PolicyRuleId pid, const std::string& owner, const std::string& why) {
    spdlog::warn("rule {} of '{}' is not there any more: {}", pid.value, owner, why);
    forgotten.push_back({pid, {}});
    ++restored.lost;
  };

  std::vector<Survivor> survivors;
  for (const auto& [pid, octets] : contents.entries) {
    auto kept = decode_rule(pid, octets);
    if (!kept) {
      throw store::StoreError(store_.place() + ": rule " + std::to_string(pid.value) + ": " +
                              kept.error() + "; name another place to begin without rules");
    }
    if (kept->ends_at_ms <= now_ms) {
      forgotten.push_back({pid, {}});
      ++restored.expired;
      continue;
    }
    const auto age = static_cast<std::uint32_t>(contents.counters.next_pid - pid.value - 1);
    survivors.push_back({std::move(*kept), age});
  }
  std::ranges::sort(survivors, std::greater(), &Survivor::age);

  std::vector<policy::PlannedChange> planned;
  std::vector<RuleChange> changes;
  for (const auto& [kept, age] : survivors) {
    // A clock that has gone back must not make a rule live longer than was granted.
    const auto left = std::min(milliseconds(kept.ends_at_ms - now_ms),
                               milliseconds(seconds(kept.granted.seconds)));
    const Lifetime lifetime{static_cast<std::uint32_t>(std::chrono::ceil<seconds>(left).count())};
    policy::PlannedChange change;
    if (const auto why = engine_.restore(kept.rule, lifetime, now + left, change)) {
      lose(kept.rule.pid, kept.rule.owner, *why);
      continue;
    }
    planned.push_back(change);
    changes.push_back(engine_.describe(change));
  }

  const auto results = inner_.begin(changes);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Body reply;
    policy::RuleEvent event;
    if (results[i] == ChangeResult::kDone) {
      engine_.commit(planned[i], now, reply, event);
      if (metrics_ != nullptr) metrics_->restored(changes[i].rule);
      ++restored.live;
    } else {
      const std::string owner(engine_.name(engine_.owner(planned[i])));
      engine_.roll_back(planned[i], results[i], now, reply);
      lose(changes[i].pid, owner, "it cannot be enforced beside the others");
    }
  }
  thread_.emplace(io_, store_);
  if (!forgotten.empty()) owe(std::move(forgotten));
  return restored;
}

// --- A batch -------------------------------------------------------------------------------------

store::Entry DurableBackend::after(const RuleChange& change) const {
  if (is_removal(change)) return {change.pid, {}};
  auto record = engine_.record(change.pid);
  SIMCO_ASSERT(record);
  record->kind = change.rule;
  record->parameters = change.parameters;
  record->internal = change.internal;
  record->external = change.external;
  const std::int64_t ends_at_ms = wall_now_ms() + std::int64_t{1000} * change.lifetime.seconds;
  return {change.pid, encode_rule({std::move(*record), change.lifetime, ends_at_ms})};
}

store::Entry DurableBackend::without(const RuleChange& change) const {
  if (change.kind == RuleChange::Kind::kAdd) return {change.pid, {}};
  auto record = engine_.record(change.pid);
  SIMCO_ASSERT(record);
  const auto left = std::chrono::duration_cast<milliseconds>(engine_.deadline(change.pid) -
                                                             std::chrono::steady_clock::now());
  const auto whole = std::max(std::chrono::ceil<seconds>(left), seconds(0));
  const Lifetime granted{static_cast<std::uint32_t>(whole.count())};
  return {change.pid, encode_rule({std::move(*record), granted, wall_now_ms() + left.count()})};
}

void DurableBackend::apply(std::span<const RuleChange> batch, backend::Backend::Client& client) {
  SIMCO_ASSERT(client_ == nullptr && thread_);
  batch_ = batch;
  client_ = &client;
  // A retry may yet fail, and then must not be taken for newer than this batch.
  if (!retry_under_way_) start();
}

void DurableBackend::start() {
  results_.assign(batch_.size(), ChangeResult::kDone);
  passed_.clear();
  passed_at_.clear();
  std::vector<store::Entry> entries;
  entries.reserve(batch_.size());
  for (const RuleChange& change : batch_) entries.push_back(after(change));
  keep(std::move(entries), [this](const Failure& failure) { on_kept(failure); });
}

void DurableBackend::on_kept(const Failure& failure) {
  if (!failure) return inner_.apply(batch_, *this);
  if (failure->taken) return answer_no_resources();
  std::vector<store::Entry> owed;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (is_removal(batch_[i])) {
      owed.push_back(after(batch_[i]));
      passed_.push_back(batch_[i]);
      passed_at_.push_back(i);
    } else {
      // Whether the store has it is not known where it was lost on the way.
      owed.push_back(without(batch_[i]));
      results_[i] = ChangeResult::kNoResources;
    }
  }
  owe(std::move(owed));
  if (passed_.empty()) return answer();
  inner_.apply(passed_, *this);
}

void DurableBackend::answer_no_resources() {
  std::ranges::fill(results_, ChangeResult::kNoResources);
  answer();
}

void DurableBackend::on_applied(std::span<const ChangeResult> results) {
  std::vector<store::Entry> taken_back;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::size_t at = passed_at_.empty() ? i : passed_at_[i];
    results_[at] = results[i];
    if (results[i] != ChangeResult::kDone) taken_back.push_back(without(batch_[at]));
  }
  if (taken_back.empty()) return answer();
  // The refusal waits until the store has forgotten it: else a restart could bring it about.
  auto copy = taken_back;
  keep(std::move(taken_back), [this, copy = std::move(copy)](const Failure& failure) mutable {
    if (failure) owe(std::move(copy));
    answer();
  });
}

void DurableBackend::answer() { std::exchange(client_, nullptr)->on_applied(results_); }

// --- The store -----------------------------------------------------------------------------------

void DurableBackend::keep(std::vector<store::Entry> entries, StoreThread::Done done) {
  store::Batch batch;
  const auto positions = engine_.id_positions();
  batch.counters = {positions.pids, positions.groups};
  auto owed = std::exchange(owed_, {});
  for (const auto& [pid, octets] : owed) batch.entries.push_back({pid, octets});
  batch.entries.insert(batch.entries.end(), std::make_move_iterator(entries.begin()),
                       std::make_move_iterator(entries.end()));
  const auto began = std::chrono::steady_clock::now();
  thread_->write(std::move(batch), [this, owed = std::move(owed), began,
                                    done = std::move(done)](const Failure& failure) mutable {
    if (metrics_ != nullptr) {
      metrics_->stored(std::chrono::steady_clock::now() - began, !failure.has_value());
    }
    note(failure);
    if (failure) {
      // What has come to be owed meanwhile is newer.
      owed_.merge(owed);
      retry_later();
    }
    done(failure);
  });
}

void DurableBackend::owe(std::vector<store::Entry> entries) {
  for (auto& [pid, octets] : entries) owed_.insert_or_assign(pid, std::move(octets));
  retry_later();
}

void DurableBackend::retry_later() {
  if (std::exchange(retry_armed_, true)) return;
  retry_.expires_after(kStoreRetry);
  retry_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    retry_armed_ = false;
    // A batch takes with it what is owed.
    if (owed_.empty() || client_ != nullptr) return;
    retry_under_way_ = true;
    keep({}, [this](const Failure&) {
      retry_under_way_ = false;
      if (client_ != nullptr) start();
    });
  });
}

void DurableBackend::note(const Failure& failure) {
  if (failure && failure->taken && taken_) asio::post(io_, std::exchange(taken_, nullptr));
  if (failure.has_value() == failing_) return;
  failing_ = failure.has_value();
  if (failing_) {
    spdlog::error("rules cannot be kept, new ones are refused until they can: {}", failure->what);
  } else {
    spdlog::info("{}: rules are kept again", store_.place());
  }
}

}  // namespace simco::middlebox
