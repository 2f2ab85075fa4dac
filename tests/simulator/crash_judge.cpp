#include "tests/simulator/crash_judge.hpp"

#include <algorithm>
#include <utility>
#include <vector>

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

void CrashJudge::recovered(bool stood_by) {
  if (facts_.store == nullptr) {
    demand(facts_.backend().table().empty(), "rules without a store have survived");
    facts_.model.rules.clear();
  }
  stored_.clear();
  if (facts_.store != nullptr) {
    for (const auto& entry : facts_.store->contents().entries) {
      stored_[entry.pid.value] = entry.octets;
    }
  }
  decltype(doubtful_rules_) refused_at_start;
  std::vector<std::uint32_t> gone;
  for (const auto& [pid, rule] : facts_.model.rules) {
    if (!facts_.backend().table().contains(pid)) gone.push_back(pid);
  }
  for (const auto& [pid, enforced] : facts_.backend().table()) {
    check_recovered_end(pid, stood_by);
    recover_rule(pid);
    facts_.model.rules.at(pid).expires_at = enforced.rule.expires_at;
    recovered_from_[pid] = {stored_.at(pid), enforced.rule.expires_at};
  }
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
  // Rules that the backend refused at the start are gone, but the store may have them until it is
  // told.
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
  // By the wall clock, its time may be over before it is.
  const bool over = stored_.contains(pid) && stored(pid).ends_at_ms <= facts_.wall.now_ms() &&
                    (is_stored_as_known(pid) || explanation(pid, false) || explanation(pid, true));
  demand(facts_.is_due(pid) || doubtful || over || facts_.find_request(ended_it) != nullptr,
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
  const ModelRule& known = facts_.model.rules.at(pid);
  const bool enables = known.kind != rule.kind;
  if (!enables && is_stored_as_known(pid)) return;
  const Request* request = explanation(pid, enables);
  const auto in_seconds = [](Instant end) {
    return std::to_string(std::chrono::duration<double>(end.time_since_epoch()).count()) + " s";
  };
  demand(request != nullptr, text(pid) + " was changed by a crash" + (enables ? " (enabled)" : "") +
                                 ": it ended at " + in_seconds(known.expires_at) + ", and now at " +
                                 in_seconds(rule.expires_at));
  facts_.model.carry_out(request->who, request->body, given, happened);
}

const Request* CrashJudge::explanation(std::uint32_t pid, bool enables) {
  const auto explains_it = [&](std::uint32_t, const Request& request) {
    if (pid_asked_about(request.body) != pid) return false;
    if (std::holds_alternative<PeaRequest>(request.body) != enables) return false;
    const std::chrono::seconds lifetime(granted_to(request.who, request.body).seconds);
    return std::ranges::any_of(stored_ends(pid), [&](Instant end) {
      return end - lifetime >= request.asked_at && end - lifetime <= facts_.now();
    });
  };
  for (auto& [tid, doubt] : doubtful_requests_) {
    if (explains_it(tid, doubt.first)) return &doubt.first;
  }
  return facts_.find_request(explains_it);
}

middlebox::KeptRule CrashJudge::stored(std::uint32_t pid) const {
  const auto kept = middlebox::decode_rule({pid}, stored_.at(pid));
  demand(kept.has_value(), text(pid) + " is damaged in the store");
  return *kept;
}

std::vector<Instant> CrashJudge::stored_ends(std::uint32_t pid) const {
  return facts_.wall.moments_of(stored(pid).ends_at_ms);
}

bool CrashJudge::is_stored_as_known(std::uint32_t pid) const {
  const auto ends = stored_ends(pid);
  const auto known = facts_.model.rules.at(pid).expires_at;
  if (std::ranges::find(ends, known) != ends.end()) return true;
  // The last start has cut the time that the clock would have added, and nothing has changed since.
  const auto before = recovered_from_.find(pid);
  return before != recovered_from_.end() && before->second == std::pair(stored_.at(pid), known);
}

// It ends when the wall clock shows the stored end, and lives no longer than it was to live when it
// was stored, should the clock have gone back.
void CrashJudge::check_recovered_end(std::uint32_t pid, bool stood_by) const {
  using namespace std::chrono;
  const auto kept = stored(pid);
  const auto left = std::min<milliseconds>(milliseconds(kept.ends_at_ms - facts_.wall.now_ms()),
                                           seconds(kept.left.seconds));
  const auto end = facts_.backend().table().at(pid).rule.expires_at;
  // A box that stood by may be removing it.
  const auto slack = milliseconds(stood_by ? 5 : 0);
  demand((left > milliseconds(0) || stood_by) && abs(end - facts_.now() - left) <= slack,
         text(pid) + " does not end when the store says");
}

}  // namespace simco::simulator
