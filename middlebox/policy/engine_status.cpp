// PRS and PRL (RFC 4540 sections 8.6 and 8.7): reports the status of a rule, and lists rules.
#include <vector>

#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

using enum NegativeReplyCode;

Verdict PolicyEngine::report_status(const RequestContext& context, const PrsRequest& request,
                                    Instant now, Plan& plan) const {
  const RuleSlot slot = find_visible(request.pid);
  if (slot == kNoSlot) return policy::refuse(plan, kNoSuchRule);
  const Rule& rule = rules_[slot];
  // A status right after a change of the same session includes that change.
  if (const auto wait = wait_for(slot, plan)) return *wait;
  if (rule.expires_at <= now || will_be_ended(rule)) return policy::refuse(plan, kNoSuchRule);
  if (!may_see(context.agent, rule.owner)) return policy::refuse(plan, kRuleAccessDenied);
  plan.reply = status_of(slot, now);
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

Verdict PolicyEngine::list_rules(const RequestContext& context, Instant now, Plan& plan) const {
  if (!context.settled) return Verdict::kWaitForChanges;
  std::vector<AgentId> owners{context.agent};
  if (agents_[context.agent].policy->sees_others()) {
    agents_.for_each([&](AgentId owner) {
      if (owner != context.agent && may_see(context.agent, owner)) owners.push_back(owner);
    });
  }
  // Decided by the counts alone: iterating over thousands of rules for a refusal of eight octets
  // would delay all others. Rules that are just ending count.
  std::size_t count = 0;
  for (const AgentId owner : owners) count += agents_[owner].live_count;
  if (count > kRuleListMax) return policy::refuse(plan, kReplyTooBig);
  PrlReply list;
  list.pids.reserve(count);
  for (const AgentId owner : owners) {
    for (RuleSlot slot = agents_[owner].rules.first; slot != kNoSlot;
         slot = rules_[slot].by_owner.next) {
      // One that a disable rule ends may still have another change under way.
      const bool over = rules_[slot].expires_at <= now || ended_by_.contains(slot);
      if (!over) list.pids.push_back(rules_[slot].pid);
    }
  }
  plan.reply = std::move(list);
  return Verdict::kReplied;
}

}  // namespace simco::policy
