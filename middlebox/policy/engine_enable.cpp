// PER and PEA (RFC 4540 sections 8.3 and 8.4): letting traffic pass.
#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"

namespace simco::policy {

using enum NegativeReplyCode;

// What PER, PEA and PDR check of their tuples, in the order of 8.3.1. A wildcard that the agent may
// not use is one that the middlebox does not have for it (RFC 5189 4.2).
PolicyEngine::Code PolicyEngine::check_pair(AgentId agent, const AddressTuple& internal,
                                            const AddressTuple& external, Direction direction,
                                            const Capabilities& capabilities,
                                            const Protocols& protocols) const {
  const AgentPolicy& policy = *agents_[agent].policy;
  if (!policy.allows(internal, external)) return kAgentNotAuthorized;
  Protocols supported = protocols;
  if (!policy.protocol_wildcards) supported.reset(kProtocolAny);
  return check_tuples(internal, external, direction, policy.capabilities(capabilities), supported);
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
  if (const auto code = check_group(asker, request.group)) return refuse(asker, reply, *code);
  if (const auto code = check_pair(agent, request.internal, request.external,
                                   request.parameters.direction, capabilities_, translated_)) {
    return refuse(asker, reply, *code);
  }
  if (is_disabled(request.internal, request.external)) return refuse(asker, reply, kConflict);
  const Lifetime lifetime = grant(asker, request.lifetime);
  if (lifetime == Lifetime{0}) return refuse(asker, reply, kConfigurationFailed);
  if (const auto code = check_resources(agent)) return refuse(asker, reply, *code);
  const auto elements = elements_for(request.internal, request.external);
  if (const auto code = check_elements(agent, elements)) return refuse(asker, reply, *code);
  const RuleSlot slot = create_rule(asker, RuleKind::kEnable, request.group);
  Rule& rule = rules_[slot];
  rule.internal = request.internal;
  rule.external = request.external;
  rule.parameters = request.parameters;
  set_elements(slot, elements);
  if (nat_.translates()) {
    const bool wait = !asker.settled && nat_.awaits_adoption(rule);
    const auto code = wait ? Code(kLackOfPorts) : nat_.take(slot, rule);
    if (code) {
      destroy_rule(slot);
      return refuse(asker, reply, *code);
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
  const bool protocol = rule.internal.protocol == request.internal.protocol;
  const bool version = rule.internal.ip_version == request.internal.ip_version;
  // 8.2.2: a firewall holds nothing, so that what was left open is open still.
  const bool any_protocol = !nat_.translates() && rule.internal.protocol == kProtocolAny;
  if (!protocol && !any_protocol) return kProtocolMismatch;
  if (!version && !rule.any_version) return kIpVersionMismatch;
  if (!nat_.translates()) return std::nullopt;
  return nat_.check_reserved(slot, request.internal, request.external, request.parameters);
}

PolicyEngine::Verdict PolicyEngine::enable_reserved(const Asker& asker, const PeaRequest& request,
                                                    Instant now, Body& reply,
                                                    PlannedChange& change) {
  const RuleSlot slot = find_visible(request.pid);
  if (slot == kNoSlot) return refuse(asker, reply, kNoSuchRule);
  Rule& rule = rules_[slot];
  if (const auto wait = wait_for(asker, slot, change)) return *wait;
  if (rule.deadline <= now) return refuse(asker, reply, kNoSuchRule);
  if (rule.kind != RuleKind::kReserve) return refuse(asker, reply, kInconsistentRequest);
  if (!may_change(asker.agent, rule.owner)) return refuse(asker, reply, kRuleAccessDenied);
  if (const auto code = check_pair(asker.agent, request.internal, request.external,
                                   request.parameters.direction, capabilities_, translated_)) {
    return refuse(asker, reply, *code);
  }
  if (const auto code = check_reservation(slot, request)) return refuse(asker, reply, *code);
  if (is_disabled(request.internal, request.external)) return refuse(asker, reply, kConflict);
  const Lifetime lifetime = grant(asker, request.lifetime);
  if (lifetime == Lifetime{0}) return refuse(asker, reply, kConfigurationFailed);
  const auto elements = elements_for(request.internal, request.external);
  if (const auto code = check_elements(rule.owner, elements)) return refuse(asker, reply, *code);
  set_elements(slot, elements);
  enabling_.emplace(slot, rule.internal);
  rule.internal = request.internal;
  rule.external = request.external;
  rule.parameters = request.parameters;
  rule.under_way = true;
  if (nat_.translates()) nat_.plan_adoption(slot, rule);
  expiry_.remove(slot);
  change = {slot, backend::RuleChange::Kind::kReplace, lifetime,
            now + std::chrono::seconds(lifetime.seconds)};
  return Verdict::kPlanned;
}

}  // namespace simco::policy
