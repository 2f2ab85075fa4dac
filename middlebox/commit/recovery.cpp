#include "middlebox/commit/recovery.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "middlebox/commit/journal.hpp"
#include "middlebox/limits.hpp"
#include "middlebox/observe/metrics.hpp"

namespace simco::middlebox {
namespace {

using rule::ChangeResult;
using rule::RuleChange;
using std::chrono::seconds;

/// A rule whose lifetime is not over.
struct Survivor {
  KeptRule kept;
  std::uint64_t age;  ///< identifiers given out since its own
};

void lose(Recovery& recovery, PolicyRuleId pid, std::string_view owner, std::string_view why) {
  recovery.losses.push_back("could not restore rule " + std::to_string(pid.value) + " of '" +
                            std::string(owner) + "': " + std::string(why));
  recovery.lost.push_back(pid);
  recovery.forgotten.push_back(pid);
}

/// The rules that may go on, in the order of their creation.
std::vector<Survivor> survivors_of(const store::Contents& contents, const std::string& place,
                                   std::int64_t wall_ms, Recovery& recovery) {
  std::vector<Survivor> survivors;
  for (const auto& [pid, octets] : contents.entries) {
    auto kept = decode_rule(pid, octets);
    if (!kept) {
      throw store::StoreError(place + ": rule " + std::to_string(pid.value) + ": " + kept.error() +
                              "; use another store to start without rules");
    }
    if (kept->ends_at_ms <= wall_ms) {
      recovery.forgotten.push_back(pid);
      ++recovery.expired;
      continue;
    }
    const auto age = static_cast<std::uint32_t>(contents.counters.next_pid - pid.value - 1);
    survivors.push_back({std::move(*kept), age});
  }
  std::ranges::sort(survivors, std::greater(), &Survivor::age);
  return survivors;
}

}  // namespace

Recovery recover(const store::Contents& contents, const std::string& place,
                 policy::PolicyEngine& engine, backend::Backend& backend, const Clock& clock,
                 Metrics* metrics) {
  const Instant now = clock.now();
  const auto wall_ms = clock.wall_ms();
  Recovery recovery;
  std::vector<policy::RuleSlot> slots;
  std::vector<RuleChange> changes;
  for (auto& [kept, age] : survivors_of(contents, place, wall_ms, recovery)) {
    const auto left = time_left(kept, wall_ms);
    kept.rule.expires_at = now + left;
    const Lifetime lifetime{static_cast<std::uint32_t>(std::chrono::ceil<seconds>(left).count())};
    const auto plan = engine.recover(kept.rule, lifetime);
    if (!plan) {
      lose(recovery, kept.rule.pid, kept.rule.owner_name, plan.error());
      continue;
    }
    slots.push_back(plan->slot);
    changes.push_back(plan->change);
  }
  const auto results = backend.begin(changes);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& rule = changes[i].after;
    if (results[i] == ChangeResult::kDone) {
      if (metrics != nullptr) metrics->restored(rule.kind);
      ++recovery.live;
    } else {
      lose(recovery, rule.pid, rule.owner_name,
           "it cannot be enforced together with the other rules");
    }
    const auto outcome = engine.settle(slots[i], changes[i], results[i], now);
    if (!outcome.disabling) continue;
    while (!engine.end_disabled(rule.pid, kDisableLooksMax, now).found_all) {
    }
  }
  return recovery;
}

}  // namespace simco::middlebox
