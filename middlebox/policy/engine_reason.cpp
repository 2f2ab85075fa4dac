// Why a request or a change was refused, as far as the engine's own state decides it.
#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/refusal_reason.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::policy {
namespace {

using enum NegativeReplyCode;

/// What a request is about, whatever its kind.
struct Subject {
  const AddressTuple* internal = nullptr;
  const AddressTuple* external = nullptr;
  Direction direction = Direction::kInbound;
  std::optional<Lifetime> lifetime;
  std::optional<GroupId> group;
  std::optional<PolicyRuleId> pid;
};

Subject subject_of(const Body& body) {
  if (const auto* request = std::get_if<PerRequest>(&body)) {
    return {&request->internal, &request->external, request->parameters.direction,
            request->lifetime,  request->group,     {}};
  }
  if (const auto* request = std::get_if<PeaRequest>(&body)) {
    return {&request->internal,
            &request->external,
            request->parameters.direction,
            request->lifetime,
            {},
            request->pid};
  }
  if (const auto* request = std::get_if<PdrRequest>(&body)) {
    return {&request->internal, &request->external, Direction::kInbound, request->lifetime, {}, {}};
  }
  Subject subject;
  if (const auto* reserve = std::get_if<PrrRequest>(&body)) {
    subject.lifetime = reserve->lifetime;
    subject.group = reserve->group;
  }
  if (const auto* change = std::get_if<PlcRequest>(&body)) subject.pid = change->pid;
  if (const auto* status = std::get_if<PrsRequest>(&body)) subject.pid = status->pid;
  return subject;
}

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

}  // namespace

std::string PolicyEngine::rule_text(RuleSlot slot) const {
  const Rule& rule = rules_[slot];
  return "rule " + std::to_string(rule.pid.value) + " of " + quoted(agents_[rule.owner].name);
}

std::string PolicyEngine::blocked_by(const AddressTuple& internal,
                                     const AddressTuple& external) const {
  const auto traffic = traffic_of(internal, external);
  std::string text;
  disable_rules_.find_any(traffic, [&](RuleSlot slot) {
    if (!overlap(traffic, traffic_of(rules_[slot].internal, rules_[slot].external))) return false;
    text = "disable " + rule_text(slot) + " blocks it";
    return true;
  });
  return text;
}

// With the same limits and in the same order as check_resources() and check_elements().
std::string PolicyEngine::exhausted(AgentId id, std::uint32_t elements) const {
  const Agent& agent = agents_[id];
  const auto reached = [&](const std::string& limit, std::uint32_t value) {
    return limit + " (" + std::to_string(value) + ") is reached";
  };
  const std::string of_agent = " of " + quoted(agent.name);
  if (rules_.size() >= options_.rules_max) return reached("--max-rules", options_.rules_max);
  if (agent.policy != nullptr && agent.rule_count >= agent.policy->rules_max) {
    return reached("'max-rules'" + of_agent, agent.policy->rules_max);
  }
  if (elements_ + elements > options_.elements_max || agent.policy == nullptr) {
    return reached("--max-elements", options_.elements_max);
  }
  return reached("'max-elements'" + of_agent, agent.policy->elements_max);
}

// A PEA counts for the owner of the reservation.
std::string PolicyEngine::exhausted(AgentId id, const Body& request) const {
  const auto subject = subject_of(request);
  const RuleSlot slot = subject.pid ? find_visible(*subject.pid) : kNoSlot;
  std::uint32_t elements = 0;
  if (std::holds_alternative<PdrRequest>(request)) {
    elements = elements_of(*subject.internal, *subject.external, 0);
  } else if (subject.internal != nullptr) {
    elements = elements_for(*subject.internal, *subject.external);
  }
  return exhausted(slot == kNoSlot ? id : rules_[slot].owner, elements);
}

std::string PolicyEngine::no_authority(AgentId id, const Body& request) const {
  const auto* policy = agents_[id].policy;
  if (policy == nullptr) return "the configuration no longer has this agent";
  const auto transaction = transaction_of(request);
  if (transaction && !policy->allows(*transaction)) {
    return "'transactions' of the agent do not include " + std::string(name_of(*transaction));
  }
  if (const auto* reserve = std::get_if<PrrRequest>(&request)) {
    return "protocol " + protocol_name(reserve->parameters.protocol) + " is not in 'protocols'";
  }
  const auto subject = subject_of(request);
  if (subject.internal == nullptr) return {};
  return missing_right(*policy, *subject.internal, *subject.external);
}

std::string PolicyEngine::no_access(AgentId id, const Body& request, PolicyRuleId pid) const {
  const RuleSlot slot = find_visible(pid);
  if (slot == kNoSlot) return {};
  const char* right = std::holds_alternative<PrsRequest>(request) ? "'see'" : "'change'";
  return std::string(right) + " of " + quoted(agents_[id].name) + " does not include " +
         quoted(agents_[rules_[slot].owner].name) + ", the owner";
}

std::string PolicyEngine::about_rule(NegativeReplyCode code, PolicyRuleId pid) const {
  const RuleSlot slot = find_visible(pid);
  if (slot == kNoSlot) return "there is no rule " + std::to_string(pid.value);
  switch (code) {
    case kLifetimeNotExtendable: return "'extend' of the agent is false";
    case kInconsistentRequest:
      if (rules_[slot].kind != RuleKind::kReserve) return rule_text(slot) + " is not a reservation";
      return "the reservation has another number of ports";
    case kNoSuchRule: return rule_text(slot) + " has just ended";
    case kProtocolMismatch: return "the reservation is for another protocol";
    case kIpVersionMismatch: return "the reservation is for the other IP version";
    case kParityMismatch: return "the reserved port has another parity";
    default: return {};
  }
}

std::string PolicyEngine::reason(const RequestContext& context, const Body& request,
                                 NegativeReplyCode code) const {
  const auto subject = subject_of(request);
  const auto* policy = agents_[context.agent].policy;
  switch (code) {
    case kAgentNotAuthorized: return no_authority(context.agent, request);
    case kNoSuchGroup: return "there is no group " + std::to_string(subject.group->value);
    case kGroupAccessDenied:
      return "group " + std::to_string(subject.group->value) + " is another agent's";
    case kConfigurationFailed:
      return subject.lifetime == Lifetime{0} ? "a lifetime of 0 s" : "'max-lifetime' is 0";
    case kNoResources: return exhausted(context.agent, request);
    case kConflict: return blocked_by(*subject.internal, *subject.external);
    case kNatModeNotSupported:
      return nat_.mode() == Mode::kTwiceNat ? "this is a twice NAT" : "this is a traditional NAT";
    case kAddressSpaceNotAvailable: return "a disable rule blocks everything of this kind";
    case kLackOfPorts:
    case kLackOfAddresses: return "the address pool has no room for it";
    case kRuleAccessDenied: return no_access(context.agent, request, *subject.pid);
    case kReplyTooBig: return "more rules than a PRL reply can list";
    default: break;
  }
  if (subject.internal != nullptr && policy != nullptr) {
    const bool filter = std::holds_alternative<PdrRequest>(request);
    const auto& own = filter ? filter_capabilities_ : capabilities_;
    Protocols supported = filter ? options_.protocols : translated_;
    if (!policy->protocol_wildcards) supported.reset(kProtocolAny);
    const auto able = policy->capabilities(own);
    const auto& [internal, external] = std::tie(*subject.internal, *subject.external);
    if (check_tuples(internal, external, subject.direction, able, supported) == code) {
      return tuple_fault(internal, external, subject.direction, able, supported, code);
    }
  }
  return subject.pid ? about_rule(code, *subject.pid) : std::string();
}

std::string PolicyEngine::reason(const rule::RuleChange& change, rule::ChangeResult result) const {
  const auto& wanted = change.rule();
  switch (result) {
    case rule::ChangeResult::kOverridden: return blocked_by(wanted.internal, wanted.external);
    case rule::ChangeResult::kNoResources: return "the backend has no room for it";
    case rule::ChangeResult::kDone: return {};
    case rule::ChangeResult::kRefused: break;
  }
  std::string text = "the backend cannot do it";
  if (wanted.kind != RuleKind::kEnable || change.kind == rule::RuleChange::Kind::kSetLifetime) {
    return text;
  }
  const auto traffic = traffic_of(wanted.internal, wanted.external);
  enable_rules_.find_any(traffic, [&](RuleSlot slot) {
    const Rule& other = rules_[slot];
    const bool same =
        other.pid != wanted.pid && overlap(traffic, traffic_of(other.internal, other.external));
    if (same) text += ": " + rule_text(slot) + " is for some of the same packets already";
    return same;
  });
  return text;
}

}  // namespace simco::policy
