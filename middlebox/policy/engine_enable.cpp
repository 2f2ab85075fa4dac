// PER and PEA (RFC 4540 sections 8.3 and 8.4): letting traffic pass.
#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"

namespace simco::policy {

using enum NegativeReplyCode;

// What PER and PEA check of their tuples, in the order of 8.3.1.
PolicyEngine::Code PolicyEngine::check_pair(AgentId agent, const AddressTuple& internal,
                                            const AddressTuple& external,
                                            PerParameterSet parameters) const {
  if (!agents_[agent].policy->allows(internal, external)) return kAgentNotAuthorized;
  return check_tuples(internal, external, parameters.direction, capabilities_, translated_);
}

bool PolicyEngine::is_disabled(const AddressTuple& internal, const AddressTuple& external) const {
  if (disable_rules_.empty()) return false;
  const auto traffic = traffic_of(internal, external);
  return disable_rules_.find_any(traffic, [&](RuleSlot slot) {
    const Rule& rule = rules_[slot];
    return overlap(traffic, traffic_of(rule.internal, rule.external));
  });
}

PolicyEngine::Verdict PolicyEngine::enable(const Asker& asker, const PerRequest& request,
                                           Instant now, Body& reply, PlannedChange& change) {
  const auto agent = asker.agent;
  if (const auto code = check_group(agent, request.group)) return refuse(reply, *code);
  if (const auto code = check_pair(agent, request.internal, request.external, request.parameters)) {
    return refuse(reply, *code);
  }
  if (is_disabled(request.internal, request.external)) return refuse(reply, kConflict);
  const Lifetime lifetime = grant(asker, request.lifetime);
  if (lifetime == Lifetime{0}) return refuse(reply, kConfigurationFailed);
  if (const auto code = check_resources(agent)) return refuse(reply, *code);
  const RuleSlot slot = create_rule(asker, RuleKind::kEnable, request.group);
  Rule& rule = rules_[slot];
  rule.internal = request.internal;
  rule.external = request.external;
  rule.parameters = request.parameters;
  if (nat_.translates()) {
    if (const auto code = nat_.take(slot, rule)) {
      destroy_rule(slot);
      return refuse(reply, *code);
    }
  }
  return plan_addition(slot, lifetime, now, change);
}

PerReply PolicyEngine::enabled(RuleSlot slot, Lifetime lifetime) const {
  const Rule& rule = rules_[slot];
  return {rule.pid, rule.group, lifetime, outside_of(slot), inside_of(slot)};
}

// --- PEA ---------------------------------------------------------------------------------------

// What was reserved must be what is enabled now: the reply reports the reserved tuples (8.4.3).
PolicyEngine::Code PolicyEngine::check_reservation(RuleSlot slot, const PeaRequest& request) const {
  const Rule& rule = rules_[slot];
  if (rule.internal.protocol != request.internal.protocol) return kProtocolMismatch;
  if (rule.internal.ip_version != request.internal.ip_version) return kIpVersionMismatch;
  if (!nat_.translates()) return std::nullopt;
  return nat_.check_reserved(slot, request.internal, request.external, request.parameters);
}

PolicyEngine::Verdict PolicyEngine::enable_reserved(const Asker& asker, const PeaRequest& request,
                                                    Instant now, Body& reply,
                                                    PlannedChange& change) {
  const RuleSlot slot = find_visible(request.pid);
  if (slot == kNoSlot) return refuse(reply, kNoSuchRule);
  Rule& rule = rules_[slot];
  if (rule.under_way) {
    change.slot = slot;
    return Verdict::kWait;
  }
  if (rule.deadline <= now) return refuse(reply, kNoSuchRule);
  if (rule.kind != RuleKind::kReserve) return refuse(reply, kInconsistentRequest);
  if (!may_change(asker.agent, rule.owner)) return refuse(reply, kRuleAccessDenied);
  if (const auto code =
          check_pair(asker.agent, request.internal, request.external, request.parameters)) {
    return refuse(reply, *code);
  }
  if (const auto code = check_reservation(slot, request)) return refuse(reply, *code);
  if (is_disabled(request.internal, request.external)) return refuse(reply, kConflict);
  const Lifetime lifetime = grant(asker, request.lifetime);
  if (lifetime == Lifetime{0}) return refuse(reply, kConfigurationFailed);
  rule.internal = request.internal;
  rule.external = request.external;
  rule.parameters = request.parameters;
  rule.under_way = true;
  expiry_.remove(slot);
  change = {slot, backend::RuleChange::Kind::kReplace, lifetime,
            now + std::chrono::seconds(lifetime.seconds)};
  return Verdict::kPlanned;
}

}  // namespace simco::policy
