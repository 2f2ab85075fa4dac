// PER and PEA (RFC 4540 sections 8.3 and 8.4): lets traffic pass. Makes the checks of 8.3.1
// and 8.4.1, looks for disable rules that block the request, and has the NAT allocate the binding.
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
  if (!policy.restricts_wildcards()) {
    return check_tuples(internal, external, direction, capabilities, protocols);
  }
  Protocols supported = protocols;
  if (!policy.protocol_wildcards) supported.reset(kProtocolAny);
  return check_tuples(internal, external, direction, policy.capabilities(capabilities), supported);
}

// One that the backend may yet refuse decides nothing: what it would block waits for it.
PolicyEngine::Block PolicyEngine::block_on(const AddressTuple& internal,
                                           const AddressTuple& external) const {
  Block block;
  if (disable_rules_.empty()) return block;
  const auto traffic = traffic_of(internal, external);
  block.in_force = disable_rules_.find_any(traffic, [&](RuleSlot slot) {
    const Rule& rule = rules_[slot];
    if (!overlap(traffic, traffic_of(rule.internal, rule.external))) return false;
    if (rule.pending) block.pending = slot;
    return !rule.pending;
  });
  return block;
}

std::optional<Verdict> PolicyEngine::check_block(const RequestContext& context,
                                                 const AddressTuple& internal,
                                                 const AddressTuple& external, Plan& plan) const {
  const Block block = block_on(internal, external);
  if (block.in_force) return refuse(context, plan, kConflict);
  if (block.pending == kNoSlot) return std::nullopt;
  plan.awaited = rules_[block.pending].pid;
  return Verdict::kWaitForRule;
}

Verdict PolicyEngine::enable(const RequestContext& context, const PerRequest& request, Instant now,
                             Plan& plan) {
  const auto agent = context.agent;
  if (const auto code = check_group(context, request.group)) return refuse(context, plan, *code);
  if (const auto code = check_pair(agent, request.internal, request.external,
                                   request.parameters.direction, capabilities_, translated_)) {
    return refuse(context, plan, *code);
  }
  if (const auto verdict = check_block(context, request.internal, request.external, plan)) {
    return *verdict;
  }
  const Lifetime lifetime = grant(context, request.lifetime);
  if (lifetime == Lifetime{0}) return refuse(context, plan, kConfigurationFailed);
  if (const auto code = check_resources(agent)) return refuse(context, plan, *code);
  const auto elements = elements_for(request.internal, request.external);
  if (const auto code = check_elements(agent, elements)) return refuse(context, plan, *code);
  const RuleSlot slot = create_rule(context, RuleKind::kEnable, request.group);
  Rule& rule = rules_[slot];
  rule.internal = request.internal;
  rule.external = request.external;
  rule.parameters = request.parameters;
  set_elements(slot, elements);
  if (nat_.translates()) {
    const bool wait = !context.settled && nat_.awaits_adoption(rule);
    const auto code = wait ? Code(kLackOfPorts) : nat_.take(slot, rule);
    if (code) {
      destroy_rule(slot);
      return refuse(context, plan, *code);
    }
  }
  return plan_addition(slot, lifetime, now, plan);
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

Verdict PolicyEngine::enable_reserved(const RequestContext& context, const PeaRequest& request,
                                      Instant now, Plan& plan) {
  const RuleSlot slot = find_visible(request.pid);
  if (slot == kNoSlot) return refuse(context, plan, kNoSuchRule);
  Rule& rule = rules_[slot];
  if (const auto wait = wait_for(slot, plan)) return *wait;
  if (has_ended(rule, now)) return refuse(context, plan, kNoSuchRule);
  if (rule.kind != RuleKind::kReserve) return refuse(context, plan, kInconsistentRequest);
  if (!may_change(context.agent, rule.owner)) return refuse(context, plan, kRuleAccessDenied);
  if (const auto code = check_pair(context.agent, request.internal, request.external,
                                   request.parameters.direction, capabilities_, translated_)) {
    return refuse(context, plan, *code);
  }
  if (const auto code = check_reservation(slot, request)) return refuse(context, plan, *code);
  if (const auto verdict = check_block(context, request.internal, request.external, plan)) {
    return *verdict;
  }
  const Lifetime lifetime = grant(context, request.lifetime);
  if (lifetime == Lifetime{0}) return refuse(context, plan, kConfigurationFailed);
  const auto elements = elements_for(request.internal, request.external);
  if (const auto code = check_elements(rule.owner, elements)) return refuse(context, plan, *code);
  set_elements(slot, elements);
  enabling_.emplace(slot, rule.internal);
  rule.internal = request.internal;
  rule.external = request.external;
  rule.parameters = request.parameters;
  begin_change(slot);
  if (nat_.translates()) nat_.plan_adoption(slot, rule);
  expiry_.remove(slot);
  return plan_change(slot, rule::RuleChange::Kind::kReplace, lifetime,
                     now + std::chrono::seconds(lifetime.seconds), plan);
}

}  // namespace simco::policy
