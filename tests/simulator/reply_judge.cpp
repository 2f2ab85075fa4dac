#include "tests/simulator/reply_judge.hpp"

#include <algorithm>
#include <set>

#include "tests/simulator/requests.hpp"
#include "tests/support/figures.hpp"

namespace simco::simulator {

using test::Model;
using test::refusal;
using enum NegativeReplyCode;

void ReplyJudge::judge(const Request& request, TransactionId tid, const Body& reply) {
  ++replies;
  if (refusal(reply)) return judge_refusal(request, tid, reply);
  if (std::holds_alternative<PrsRequest>(request.body) ||
      std::holds_alternative<PrlRequest>(request.body)) {
    return judge_read(request, reply);
  }
  ++grants;
  judge_grant(request, reply);
}

void ReplyJudge::judge_refusal(const Request& request, TransactionId tid, const Body& reply) {
  const auto verdict = facts_.decide(request, facts_.now());
  const auto code = *refusal(reply);
  const bool late = code == kConflict && was_overtaken(tid);
  if (late) ++overtaken;
  if (verdict.agrees_with(reply)) return;
  // The group that it joined when it was planned may have ended since.
  const Body ungrouped = without_group(request.body);
  if (late && facts_.model.decide(request.who, ungrouped, facts_.now()).refusal == code) return;
  if (code == kAgentNotAuthorized && request.may_be_unknown) return;
  const auto pid = pid_asked_about(request.body);
  if (code == kNoSuchRule && facts_.is_due(pid)) return;
  if (code == kConfigurationFailed || code == kNoResources) {
    if (pid == 0 ? facts_.backend().refused_addition(tid) : facts_.backend().refused_change(pid))
      return;
    if (code == kNoResources && facts_.store != nullptr &&
        facts_.store->failed_since(request.asked_at))
      return;
  }
  if (may_be_refused_for_others(request, code)) return;
  throw Fault(request.who + "'s " + text(request.body) + " got " + text(reply) + " instead of " +
              text(verdict));
}

// Planned resources are taken, and may yet come back.
bool ReplyJudge::may_be_refused_for_others(const Request& request, NegativeReplyCode code) const {
  const auto is_anothers = [&](const auto& entry) {
    return entry.second.session != request.session &&
           facts_.now() - entry.second.asked_at < std::chrono::seconds(5);
  };
  const bool others = std::ranges::any_of(facts_.requests, is_anothers) ||
                      std::ranges::any_of(facts_.orphans, is_anothers);
  // A group whose first rule is being made is no secret to its owner's other sessions.
  const Body ungrouped = without_group(request.body);
  if (facts_.model.decide(request.who, ungrouped, facts_.now()).refusal == code) return others;
  const bool resource = code == kNoResources || code == kGroupAccessDenied ||
                        code == kAddressSpaceNotAvailable || Model::is_shortage(code);
  return resource && others;
}

void ReplyJudge::judge_read(const Request& request, const Body& reply) const {
  if (const auto* prs = std::get_if<PrsRequest>(&request.body)) {
    const auto pid = prs->pid.value;
    if (facts_.is_due(pid)) return;
    demand(facts_.model.decide(request.who, request.body, facts_.now()).granted(),
           "a status of " + text(pid) + " that should have been refused");
    demand(reply == facts_.model.status_of(pid, facts_.now()), "a wrong status of " + text(pid));
    return;
  }
  std::set<std::uint32_t> listed;
  for (const auto pid : std::get<PrlReply>(reply).pids) listed.insert(pid.value);
  const auto visible = facts_.model.visible_to(request.who);
  demand(std::ranges::includes(visible, listed), "a list with rules that are not there");
  for (const auto pid : visible) {
    demand(listed.contains(pid) || facts_.is_due(pid), "a list without " + text(pid));
  }
}

void ReplyJudge::judge_grant(const Request& request, const Body& reply) {
  const Lifetime lifetime = granted_to(request.who, request.body);
  if (request.disables != 0) {
    const auto* pdr = std::get_if<PdrReply>(&reply);
    demand(pdr != nullptr && *pdr == PdrReply{{request.disables}, lifetime}, "a wrong PDR reply");
    return;
  }
  std::uint32_t pid = pid_asked_about(request.body);
  if (const auto* per = std::get_if<PerReply>(&reply)) pid = per->pid.value;
  if (const auto* prr = std::get_if<PrrReply>(&reply)) pid = prr->pid.value;
  const auto event = claim(pid, lifetime == Lifetime{0});
  demand(event.lifetime == lifetime.seconds, "another lifetime than was granted");
  demand(reply == facts_.model.reply_to(request.body, pid, lifetime),
         "a wrong " + text(reply) + " about " + text(pid));
}

bool ReplyJudge::was_overtaken(TransactionId tid) const {
  return std::ranges::any_of(facts_.backend().table(), [&](const auto& entry) {
    const auto& rule = entry.second.rule;
    return rule.kind == rule::RuleKind::kDisable && rule.creating_tid > tid;
  });
}

ReplyJudge::Change ReplyJudge::claim(std::uint32_t pid, bool ends) {
  const auto found = std::ranges::find_if(changes_, [&](const Change& event) {
    return event.pid == pid && (event.lifetime == 0) == ends;
  });
  demand(found != changes_.end(), "a reply about " + text(pid) + " without the change");
  const Change result = *found;
  changes_.erase(found);
  return result;
}

}  // namespace simco::simulator
