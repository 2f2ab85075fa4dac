// A batch of the store at a time: each of its rules is made like the store's, in one change or in
// two, as soon as no other change of the rule is under way.
#include "middlebox/commit/following.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "middlebox/commit/journal.hpp"
#include "middlebox/limits.hpp"

namespace simco::middlebox {

using rule::ChangeResult;
using rule::RuleChange;
using std::chrono::seconds;

namespace {

/// Of the entries of a rule the last one counts.
void keep_last(std::vector<store::Entry>& entries) {
  std::set<PolicyRuleId> later;
  const auto earlier = std::stable_partition(
      entries.rbegin(), entries.rend(),
      [&](const store::Entry& entry) { return later.insert(entry.pid).second; });
  entries.erase(entries.begin(), earlier.base());
}

}  // namespace

Following::Following(policy::PolicyEngine& engine, CommitPipeline& pipeline, const Clock& clock,
                     const store::Contents& contents, const Recovery& recovery)
    : engine_(engine),
      pipeline_(pipeline),
      clock_(clock),
      unlike_(recovery.lost.begin(), recovery.lost.end()),
      ended_(recovery.forgotten.begin(), recovery.forgotten.end()) {
  for (const auto& [pid, octets] : contents.entries) {
    if (unlike_.contains(pid)) put_off(pid, octets);
  }
}

bool Following::advance() {
  if (!pipeline_.idle()) return false;
  if (all_begun()) {
    if (!retry_at_ || clock_.now() < *retry_at_) return false;
    retry_at_.reset();
    for (auto& [pid, octets] : std::exchange(refused_, {})) {
      waiting_.push_back({{pid, std::move(octets)}});
    }
  } else if (waiting_.empty()) {
    begin(std::move(batches_.front()));
    batches_.pop_front();
  }
  planned_ = false;
  std::erase_if(waiting_, [this](Waiting& waiting) { return !plan(waiting); });
  return planned_ || (waiting_.empty() && !batches_.empty());
}

bool Following::report(bool enforces) {
  if (!all_begun() || !pipeline_.idle()) return false;
  if (on_done_) std::exchange(on_done_, nullptr)(enforces && unlike_.empty());
  return true;
}

void Following::begin(store::Batch batch) {
  engine_.follow_ids({batch.counters.next_pid, batch.counters.next_gid});
  keep_last(batch.entries);
  if (batch.all) {
    // In the order of their creation, and without what the store no longer has.
    const auto age = [&](const store::Entry& entry) {
      return static_cast<std::uint32_t>(batch.counters.next_pid - entry.pid.value - 1);
    };
    std::ranges::sort(batch.entries, std::greater(), age);
    std::set<PolicyRuleId> gone;
    engine_.for_each_rule([&](const rule::RuleRecord& rule) { gone.insert(rule.pid); });
    for (const auto& entry : batch.entries) gone.erase(entry.pid);
    for (const auto pid : gone) waiting_.push_back({{pid, {}}});
    ended_.clear();
    refused_.clear();
    unlike_.clear();
  }
  for (const auto& entry : batch.entries) refused_.erase(entry.pid);
  for (auto& entry : batch.entries) waiting_.push_back({std::move(entry)});
  // Removals make room.
  std::ranges::stable_partition(
      waiting_, [](const Waiting& waiting) { return waiting.entry.octets.empty(); });
}

bool Following::plan(Waiting& waiting) {
  const auto& [pid, octets] = waiting.entry;
  const Instant now = clock_.now();
  const auto wall_ms = clock_.wall_ms();
  auto kept = decode_rule(pid, octets);
  if (!octets.empty() && !kept) {
    lose(pid, kept.error());
    return false;
  }
  const bool over = octets.empty() || kept->ends_at_ms <= wall_ms;
  Lifetime lifetime;
  if (!over) {
    const auto left = time_left(*kept, wall_ms);
    kept->rule.expires_at = now + left;
    lifetime = {static_cast<std::uint32_t>(std::chrono::ceil<seconds>(left).count())};
  }
  const auto plan = engine_.follow(pid, over ? nullptr : &kept->rule, lifetime, now);
  if (!plan) {
    // It may need the ports of a rule that is being removed.
    if (planned_) return true;
    lose(pid, plan.error());
    put_off(pid, octets);
    return false;
  }
  if (octets.empty()) ended_.erase(pid);
  switch (plan->verdict) {
    case policy::Verdict::kReplied:
      if (over && !octets.empty()) ended_.insert(pid);
      unlike_.erase(pid);
      return false;
    case policy::Verdict::kPlanned: break;
    default: return true;
  }
  planned_ = true;
  const bool removes = plan->change.kind == RuleChange::Kind::kRemove;
  if (removes && octets.empty()) removing_.insert(pid);
  if (!removes) making_.insert_or_assign(pid, octets);
  pipeline_.follow(*plan);
  if (!removes || over) return false;
  // It differs: away with it first.
  if (++waiting.tries < 2) return true;
  lose(pid, "the rule that it replaces cannot be removed");
  return false;
}

void Following::note(const rule::Decision& decision) {
  const auto& change = decision.change;
  const auto pid = change.rule().pid;
  const bool done = decision.result == ChangeResult::kDone;
  if (change.kind == RuleChange::Kind::kRemove) {
    // One that was refused is tried again as an expired rule is.
    if (!done) {
      unlike_.insert(pid);
      return;
    }
    unlike_.erase(pid);
    if (removing_.erase(pid) == 0) ended_.insert(pid);
    return;
  }
  auto made = making_.extract(pid);
  if (done) {
    ended_.erase(pid);
    unlike_.erase(pid);
    return;
  }
  lose(pid, "the backend refuses it; trying again");
  if (made) put_off(pid, made.mapped());
}

void Following::put_off(PolicyRuleId pid, const std::string& octets) {
  refused_.insert_or_assign(pid, octets);
  retry_at_ = clock_.now() + kFollowRefusedRetry;
}

void Following::lose(PolicyRuleId pid, const std::string& why) {
  unlike_.insert(pid);
  // Once for each rule, however often it is tried.
  if (!ended_.insert(pid).second) return;
  losses_.push_back("could not take over rule " + std::to_string(pid.value) + ": " + why);
}

}  // namespace simco::middlebox
