// The door of the room: each call goes to the part that carries it out.
#include "middlebox/policy/engine.hpp"

#include <algorithm>

#include "middlebox/policy/planned_change.hpp"

namespace simco::policy {

Capabilities PolicyEngine::capabilities(AgentId agent) const {
  const auto* policy = book_.agents[agent].policy;
  return policy == nullptr ? book_.capabilities : policy->capabilities(book_.capabilities);
}

Plan PolicyEngine::plan(const RequestContext& context, const Body& request, Instant now) {
  return plan_request(book_, context, request, now);
}

std::optional<Plan> PolicyEngine::plan_expiry(Instant now) {
  return policy::plan_expiry(book_, now);
}

DisableStep PolicyEngine::end_disabled(PolicyRuleId pid, std::uint32_t looks, Instant now) {
  return book_.disable_rules.search(pid, looks, now);
}

bool PolicyEngine::overridden(RuleSlot slot, const rule::RuleChange& change) const {
  using enum rule::RuleChange::Kind;
  const bool adds = change.kind == kAdd || change.kind == kReplace;
  if (!adds || change.after.kind != RuleKind::kEnable) return false;
  const Rule& rule = book_.rules[slot];
  SIMCO_ASSERT(rule.under_way && rule.pid == change.after.pid);
  return book_.disable_rules.block_on(rule.internal, rule.external).in_force;
}

Outcome PolicyEngine::settle(RuleSlot slot, const rule::RuleChange& change,
                             rule::ChangeResult result, Instant now) {
  return policy::settle(book_, slot, change, result, now);
}

std::string PolicyEngine::reason(const RequestContext& context, const Body& request,
                                 NegativeReplyCode code) const {
  return reason_of(book_, context, request, code);
}

std::string PolicyEngine::reason(const rule::RuleChange& change, rule::ChangeResult result) const {
  return reason_of(book_, change, result);
}

void PolicyEngine::resume_ids(const rule::IdPositions& positions) {
  SIMCO_ASSERT(book_.rules.size() == 0);
  book_.pids.resume(positions.pids);
  book_.groups.resume(positions.groups);
}

std::expected<Plan, std::string> PolicyEngine::recover(const rule::RuleRecord& record,
                                                       Lifetime lifetime) {
  return policy::recover(book_, record, lifetime);
}

std::expected<Plan, std::string> PolicyEngine::follow(PolicyRuleId pid,
                                                      const rule::RuleRecord* rule,
                                                      Lifetime lifetime, Instant now) {
  return policy::follow(book_, pid, rule, lifetime, now);
}

void PolicyEngine::end_following(Instant now) { policy::end_following(book_, now); }

void PolicyEngine::follow_ids(const rule::IdPositions& positions) {
  book_.pids.resume(std::max(book_.pids.position(), positions.pids));
  book_.groups.resume(std::max(book_.groups.id_position(), positions.groups));
}

std::optional<rule::RuleRecord> PolicyEngine::find(PolicyRuleId pid) const {
  const RuleSlot slot = book_.find_visible(pid);
  if (slot == kNoSlot) return std::nullopt;
  rule::RuleRecord record;
  describe(book_, slot, record);
  return record;
}

}  // namespace simco::policy
