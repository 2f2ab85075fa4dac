#include "tests/simulator/crash_judge.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "middlebox/policy/limits.hpp"
#include "tests/simulator/requests.hpp"

namespace simco::simulator {

using test::ModelRule;

void CrashJudge::ended(std::uint32_t pid) {
  if (facts_.store == nullptr || !facts_.store->failing()) return;
  doubtful_rules_[pid] = {facts_.model.rules.at(pid), facts_.store->begun()};
}

void CrashJudge::refused(TransactionId tid, const Request& request) {
  if (facts_.store == nullptr || !facts_.store->failing()) return;
  doubtful_requests_[tid.value] = {request, facts_.store->begun()};
}

void CrashJudge::forget_doubts() {
  if (facts_.store == nullptr) return;
  std::erase_if(doubtful_rules_,
                [&](const auto& entry) { return !is_doubtful(entry.second.second); });
  std::erase_if(doubtful_requests_,
                [&](const auto& entry) { return !is_doubtful(entry.second.second); });
}

void CrashJudge::recovered() {
  if (facts_.store == nullptr) {
    demand(facts_.backend().table().empty(), "rules without a store have survived");
    facts_.model.rules.clear();
  }
  decltype(doubtful_rules_) refused_at_start;
  std::vector<std::uint32_t> gone;
  for (const auto& [pid, rule] : facts_.model.rules) {
    if (!facts_.backend().table().contains(pid)) gone.push_back(pid);
  }
  for (const auto& [pid, enforced] : facts_.backend().table()) recover_rule(pid);
  for (const auto pid : gone) {
    if (facts_.backend().refused_at_start(pid)) {
      refused_at_start[pid] = {facts_.model.rules.at(pid), facts_.store->begun()};
      facts_.model.rules.erase(pid);
    } else {
      recover_end(pid);
    }
  }
  facts_.orphans.clear();
  doubtful_requests_.clear();
  // What the backend refused to begin with is gone, but the store may have it until it is told.
  doubtful_rules_ = std::move(refused_at_start);
}

// It may have got an end that has come since, from a request that was never answered, or refused
// for a store that had kept it all the same.
void CrashJudge::recover_end(std::uint32_t pid) {
  const auto ended_it = [&](std::uint32_t, const Request& request) {
    const auto granted = granted_to(request.who, request.body);
    return facts_.explains(request, pid, granted.seconds) &&
           request.asked_at + std::chrono::seconds(granted.seconds) <= facts_.now();
  };
  const bool doubtful = std::ranges::any_of(doubtful_requests_, [&](const auto& entry) {
    return ended_it(entry.first, entry.second.first);
  });
  demand(facts_.is_due(pid) || doubtful || facts_.find_request(ended_it) != nullptr,
         text(pid) + " was lost by a crash");
  facts_.model.rules.erase(pid);
}

void CrashJudge::recover_rule(std::uint32_t pid) {
  const auto& rule = facts_.backend().table().at(pid).rule;
  const auto given = facts_.given_of(pid);
  std::vector<test::Happened> happened;
  if (!facts_.model.rules.contains(pid)) {
    if (const auto doubt = doubtful_rules_.find(pid); doubt != doubtful_rules_.end()) {
      facts_.model.rules[pid] = doubt->second.first;
      return;
    }
    const Request* request = facts_.creating_request(pid);
    const auto doubt = doubtful_requests_.find(rule.creating_tid.value);
    if (doubt != doubtful_requests_.end()) request = &doubt->second.first;
    demand(request != nullptr, text(pid) + " has come with a crash");
    facts_.model.carry_out(request->who, request->body, given, happened);
    return;
  }
  ModelRule& known = facts_.model.rules.at(pid);
  if (known.kind == rule.kind && known.expires_at == rule.expires_at) return;
  // Until a removal that the kernel refused is tried again, the rule has another end.
  if (known.kind == rule.kind && known.expires_at <= facts_.now() && facts_.refused_removal(pid) &&
      rule.expires_at <= facts_.now() + policy::kExpiryRetry) {
    known.expires_at = rule.expires_at;
    return;
  }
  const auto left = [&](const Request& request) { return granted_to(request.who, request.body); };
  const bool enables = known.kind != rule.kind;
  const auto explains_it = [&](std::uint32_t, const Request& request) {
    if (pid_asked_about(request.body) != pid) return false;
    const auto planned_at = rule.expires_at - std::chrono::seconds(left(request).seconds);
    return planned_at >= request.asked_at && planned_at <= facts_.now() &&
           std::holds_alternative<PeaRequest>(request.body) == enables;
  };
  const Request* request = facts_.find_request(explains_it);
  for (auto& [tid, doubt] : doubtful_requests_) {
    if (explains_it(tid, doubt.first)) request = &doubt.first;
  }
  const auto end_of = [](Instant end) {
    return std::to_string(std::chrono::duration<double>(end.time_since_epoch()).count()) + " s";
  };
  demand(request != nullptr, text(pid) + " was changed by a crash" + (enables ? " (enabled)" : "") +
                                 ": it ended at " + end_of(known.expires_at) + ", and now at " +
                                 end_of(rule.expires_at));
  facts_.model.carry_out(request->who, request->body, given, happened);
}

}  // namespace simco::simulator
