#include "tests/simulator/change_judge.hpp"

#include <utility>
#include <vector>

#include "tests/simulator/requests.hpp"

namespace simco::simulator {

using test::Given;

ChangeJudge::Change ChangeJudge::judge(std::uint32_t pid, std::uint32_t lifetime) {
  const auto known = facts_.model.rules.find(pid);
  if (known == facts_.model.rules.end()) {
    demand(lifetime != 0, text(pid) + " has ended and was not there");
    const auto& request = judge_new_rule(pid, lifetime);
    return {request.who, request.session};
  }
  std::string owner = known->second.owner;
  if (lifetime == 0) {
    judge_end(pid);
  } else {
    judge_change(pid, lifetime);
  }
  return {std::move(owner), std::nullopt};
}

void ChangeJudge::disabled(std::uint32_t pid) {
  if (facts_.model.rules.contains(pid)) disabled_.insert(pid);
}

// It joined a group when it was planned; the last rule in it may have ended since.
Body ChangeJudge::without_group_that_was(const Request& request, const Given& given) const {
  const auto group = group_asked_for(request.body);
  if (!group || facts_.model.has_group(group->value)) return request.body;
  const auto lifetime = granted_to(request.who, request.body);
  const auto gone = groups_gone_at_.find(group->value);
  const bool was_there =
      gone != groups_gone_at_.end() &&
      gone->second >= given.expires_at - std::chrono::seconds(lifetime.seconds) &&
      facts_.model.groups.at(group->value) == request.who;
  return was_there ? without_group(request.body) : request.body;
}

const Request& ChangeJudge::judge_new_rule(std::uint32_t pid, std::uint32_t lifetime) {
  const auto enforced = facts_.backend().table().find(pid);
  demand(enforced != facts_.backend().table().end(), text(pid) + " is new and is not enforced");
  Request* const request = facts_.creating_request(pid);
  demand(request != nullptr && request->who == enforced->second.owner,
         text(pid) + " is new and nobody has asked for it");
  const Given given = facts_.given_of(pid);
  const auto verdict =
      facts_.model.decide(request->who, without_group_that_was(*request, given), facts_.now());
  demand(verdict.granted(), describe(request->body) + " was granted instead of " + text(verdict));
  facts_.check_end(*request, lifetime, given.expires_at);
  if (const auto fault = facts_.model.fault_in(request->who, request->body, given)) {
    throw Fault(text(request->body) + " was granted, but " + *fault);
  }
  std::vector<test::Happened> happened;
  facts_.model.carry_out(request->who, request->body, given, happened);
  if (std::holds_alternative<PdrRequest>(request->body)) {
    request->disables = pid;
    for (const auto& [other, rule] : facts_.model.rules) {
      if (rule.kind == rule::RuleKind::kEnable && facts_.is_due(other)) facts_.doomed.insert(other);
    }
  }
  return *request;
}

void ChangeJudge::judge_end(std::uint32_t pid) {
  const auto asked_for = [&](std::uint32_t, const Request& request) {
    return facts_.explains(request, pid, 0);
  };
  demand(facts_.is_due(pid) || facts_.find_request(asked_for) != nullptr,
         text(pid) + " has ended before its time");
  demand(!facts_.backend().table().contains(pid), text(pid) + " has ended and is still enforced");
  const auto group = facts_.model.rules.at(pid).group;
  facts_.model.rules.erase(pid);
  disabled_.erase(pid);
  facts_.doomed.erase(pid);
  if (group != 0 && !facts_.model.has_group(group)) groups_gone_at_[group] = facts_.now();
}

void ChangeJudge::judge_change(std::uint32_t pid, std::uint32_t lifetime) {
  const auto enforced = facts_.backend().table().find(pid);
  demand(enforced != facts_.backend().table().end(),
         text(pid) + " has changed and is not enforced");
  const auto& rule = enforced->second.rule;
  const Instant planned_at = rule.expires_at - std::chrono::seconds(lifetime);
  const bool enables = facts_.model.rules.at(pid).kind != rule.kind;
  Request* const request = facts_.find_request([&](std::uint32_t, const Request& candidate) {
    return facts_.explains(candidate, pid, lifetime) && candidate.asked_at <= planned_at &&
           std::holds_alternative<PeaRequest>(candidate.body) == enables &&
           (!enables || std::get<PeaRequest>(candidate.body).internal == rule.internal) &&
           (!enables || std::get<PeaRequest>(candidate.body).external == rule.external);
  });
  demand(request != nullptr, text(pid) + " has changed and nobody has asked for it");
  facts_.doomed.erase(pid);
  facts_.check_end(*request, lifetime, rule.expires_at);
  const auto verdict = facts_.decide(*request, planned_at);
  demand(verdict.granted(), describe(request->body) + " was granted instead of " + text(verdict));
  const Given given = facts_.given_of(pid);
  if (const auto fault = facts_.model.fault_in(request->who, request->body, given)) {
    throw Fault(text(request->body) + " was granted, but " + *fault);
  }
  std::vector<test::Happened> happened;
  facts_.model.carry_out(request->who, request->body, given, happened);
}

// Rules that a disable rule overlaps are closed from the reply on; only rules that the kernel has
// refused to remove may still exist.
void ChangeJudge::check_disabled_traffic() const {
  for (const auto pid : disabled_) {
    const auto& disable = facts_.model.rules.at(pid);
    for (const auto& [other, enforced] : facts_.backend().table()) {
      const bool open = enforced.rule.kind == rule::RuleKind::kEnable &&
                        test::meets(enforced.rule.internal, disable.internal) &&
                        test::meets(enforced.rule.external, disable.external);
      demand(!open || facts_.backend().refused_removal(other),
             text(other) + " is enforced against disable " + text(pid));
    }
  }
}

}  // namespace simco::simulator
