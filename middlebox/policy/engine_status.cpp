// PRS and PRL (RFC 4540 sections 8.6 and 8.7): telling what there is.
#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

using enum NegativeReplyCode;

PolicyEngine::Verdict PolicyEngine::report_status(const Asker& asker, const PrsRequest& request,
                                                  Instant now, Body& reply,
                                                  PlannedChange& change) const {
  const RuleSlot slot = find_visible(request.pid);
  if (slot == kNoSlot) return refuse(reply, kNoSuchRule);
  const Rule& rule = rules_[slot];
  if (!may_see(asker.agent, rule.owner)) return refuse(reply, kRuleAccessDenied);
  // Who asks right after a change of his own is told what became of it.
  if (rule.under_way) {
    change.slot = slot;
    return Verdict::kWait;
  }
  if (rule.deadline <= now) return refuse(reply, kNoSuchRule);
  reply = status_of(slot, now);
  return Verdict::kReplied;
}

Body PolicyEngine::status_of(RuleSlot slot, Instant now) const {
  const Rule& rule = rules_[slot];
  const Owner owner{OctetsView::of(agents_[rule.owner].name)};
  const Lifetime left = remaining(rule, now);
  switch (rule.kind) {
    case RuleKind::kReserve: {
      const auto same = reserved(slot, left);
      return PrsReply{same.pid, same.group, same.lifetime, same.outside, same.inside, owner};
    }
    case RuleKind::kDisable: return PdsReply{rule.pid, rule.internal, rule.external, left, owner};
    case RuleKind::kEnable: break;
  }
  // Figure 35 has all four tuples: on a traditional NAT, inside is what external is.
  const auto inside = inside_of(slot).value_or(at(rule.external, Location::kInside));
  return PesReply{rule.pid,      rule.group, rule.parameters,
                  rule.internal, inside,     outside_of(slot),
                  rule.external, left,       owner};
}

PolicyEngine::Verdict PolicyEngine::list_rules(const Asker& asker, Instant now, Body& reply) const {
  PrlReply list;
  bool too_many = false;
  const auto add_rules_of = [&](const Agent& owner) {
    for (RuleSlot slot = owner.rules.first; slot != kNoSlot && !too_many;
         slot = rules_[slot].by_owner.next) {
      if (rules_[slot].deadline <= now) continue;
      too_many = list.pids.size() == kRuleListMax;
      if (!too_many) list.pids.push_back(rules_[slot].pid);
    }
  };
  add_rules_of(agents_[asker.agent]);
  if (agents_[asker.agent].policy->sees_others()) {
    agents_.for_each([&](AgentId owner) {
      if (owner != asker.agent && may_see(asker.agent, owner)) add_rules_of(agents_[owner]);
    });
  }
  if (too_many) return refuse(reply, kReplyTooBig);
  reply = std::move(list);
  return Verdict::kReplied;
}

}  // namespace simco::policy
