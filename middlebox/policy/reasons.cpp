// A function for each kind of cause; subject_of() makes requests of all kinds alike.
#include "middlebox/policy/reasons.hpp"

#include <tuple>

#include "middlebox/policy/refusal_reason.hpp"
#include "middlebox/policy/traffic.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::policy {
namespace {

using enum NegativeReplyCode;

/// The subject of a request of any kind.
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

std::string Reasons::rule_text(RuleSlot slot) const {
  const Rule& rule = book_.rules[slot];
  return "rule " + std::to_string(rule.pid.value) + " of " + quoted(book_.agents[rule.owner].name);
}

std::string Reasons::blocked_by(const AddressTuple& internal, const AddressTuple& external) const {
  const RuleSlot slot = book_.disable_rules.blocker(internal, external);
  return slot == kNoSlot ? std::string() : "disable " + rule_text(slot) + " blocks it";
}

// A PEA counts for the owner of the reservation.
std::string Reasons::exhausted(AgentId id, const Body& request) const {
  const auto subject = subject_of(request);
  const RuleSlot slot = subject.pid ? book_.find_visible(*subject.pid) : kNoSlot;
  std::uint32_t elements = 0;
  if (std::holds_alternative<PdrRequest>(request)) {
    elements = elements_of(*subject.internal, *subject.external, 0);
  } else if (subject.internal != nullptr) {
    elements = book_.elements_for(*subject.internal, *subject.external);
  }
  return book_.quotas.reached(slot == kNoSlot ? id : book_.rules[slot].owner, elements);
}

std::string Reasons::no_authority(AgentId id, const Body& request) const {
  const auto* policy = book_.agents[id].policy;
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

std::string Reasons::no_access(AgentId id, const Body& request, PolicyRuleId pid) const {
  const RuleSlot slot = book_.find_visible(pid);
  if (slot == kNoSlot) return {};
  const char* right = std::holds_alternative<PrsRequest>(request) ? "'see'" : "'change'";
  return std::string(right) + " of " + quoted(book_.agents[id].name) + " does not include " +
         quoted(book_.agents[book_.rules[slot].owner].name) + ", the owner";
}

std::string Reasons::about_rule(NegativeReplyCode code, PolicyRuleId pid) const {
  const RuleSlot slot = book_.find_visible(pid);
  if (slot == kNoSlot) return "there is no rule " + std::to_string(pid.value);
  switch (code) {
    case kLifetimeNotExtendable: return "'extend' of the agent is false";
    case kInconsistentRequest:
      if (book_.rules[slot].kind != RuleKind::kReserve)
        return rule_text(slot) + " is not a reservation";
      return "the reservation has another number of ports";
    case kNoSuchRule: return rule_text(slot) + " has just ended";
    case kProtocolMismatch: return "the reservation is for another protocol";
    case kIpVersionMismatch: return "the reservation is for the other IP version";
    case kParityMismatch: return "the reserved port has another parity";
    default: return {};
  }
}

std::string Reasons::of(const RequestContext& context, const Body& request,
                        NegativeReplyCode code) const {
  const auto subject = subject_of(request);
  const auto* policy = book_.agents[context.agent].policy;
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
      return book_.nat.mode() == Mode::kTwiceNat ? "this is a twice NAT"
                                                 : "this is a traditional NAT";
    case kAddressSpaceNotAvailable: return "a disable rule blocks everything of this kind";
    case kLackOfPorts:
    case kLackOfAddresses: return "the address pool has no room for it";
    case kRuleAccessDenied: return no_access(context.agent, request, *subject.pid);
    case kReplyTooBig: return "more rules than a PRL reply can list";
    default: break;
  }
  if (subject.internal != nullptr && policy != nullptr) {
    const bool filter = std::holds_alternative<PdrRequest>(request);
    const auto& own = filter ? book_.filter_capabilities : book_.capabilities;
    Protocols supported = filter ? book_.protocols : book_.translated;
    if (!policy->protocol_wildcards) supported.reset(kProtocolAny);
    const auto able = policy->capabilities(own);
    const auto& [internal, external] = std::tie(*subject.internal, *subject.external);
    if (check_tuples(internal, external, subject.direction, able, supported) == code) {
      return tuple_fault(internal, external, subject.direction, able, supported, code);
    }
  }
  return subject.pid ? about_rule(code, *subject.pid) : std::string();
}

std::string Reasons::of(const rule::RuleChange& change, rule::ChangeResult result) const {
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
  const RuleSlot other =
      book_.disable_rules.enabled_overlap(wanted.internal, wanted.external, wanted.pid);
  if (other != kNoSlot)
    text += ": " + rule_text(other) + " is for some of the same packets already";
  return text;
}

}  // namespace simco::policy
