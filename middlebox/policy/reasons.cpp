// Looks for the check that a refused request failed, after the fact: the checks themselves only
// answer with codes, so that a refusal costs nothing. A function for each kind of cause;
// subject_of() makes requests of all kinds alike.
#include "middlebox/policy/planned_change.hpp"

#include <tuple>

#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/traffic.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::policy {
namespace {

using enum NegativeReplyCode;

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string text_of(const IpPrefix& prefix) { return to_string(prefix); }
std::string text_of(const PortRange& range) {
  if (range.first == range.last) return number(range.first);
  return number(range.first) + "-" + number(range.last);
}

template <class Item>
std::string list_of(const std::vector<Item>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == kReasonItemsMax) return text + ", ...";
    text += (i == 0 ? "" : ", ") + text_of(items[i]);
  }
  return text;
}

const char* version_name(IpVersion version) {
  return version == IpVersion::kIpv4 ? "IPv4" : "IPv6";
}

std::string ports_of(const AddressTuple& tuple) {
  if (!has_ports(tuple)) return "any";
  return number(tuple.port) + (tuple.port_range == 1 ? "" : "/" + number(tuple.port_range));
}

std::string inconsistency(const AddressTuple& internal, const AddressTuple& external,
                          Direction direction) {
  if (internal.location != Location::kInternal || external.location != Location::kExternal) {
    return "the tuples must be internal and external, in this order";
  }
  if (internal.protocol != external.protocol) return "the sides have different protocols";
  if (port_ranges_differ(internal, external)) {
    return "internal has " + number(internal.port_range) + " ports, external " +
           number(external.port_range);
  }
  if (direction == Direction::kBidirectional) {
    return "direction both needs exact addresses and ports on both sides";
  }
  return {};
}

std::string unsupported_wildcard(const AddressTuple& internal, const AddressTuple& external,
                                 const Capabilities& capabilities, const Protocols& supported) {
  const auto wild = [](const AddressTuple& tuple) {
    return prefix_of(tuple).length < address_bits(tuple.ip_version);
  };
  const std::string end = " must not be wildcarded here, by this agent";
  if (wild(internal) && !capabilities.internal_wildcards) return "internal addresses" + end;
  if (wild(external) && !capabilities.external_wildcards) return "external addresses" + end;
  if (internal.protocol == kProtocolAny && !supported[kProtocolAny]) return "protocols" + end;
  return "ports" + end;
}

std::string version_fault(const AddressTuple& internal, const AddressTuple& external) {
  if (internal.ip_version == external.ip_version) {
    return std::string("the middlebox, or its address pool, has no ") +
           version_name(internal.ip_version);
  }
  return std::string("internal is ") + version_name(internal.ip_version) + ", external " +
         version_name(external.ip_version);
}

/// Returns which right of the agent with `policy` does not cover the tuples; empty if all do.
std::string missing_right(const AgentPolicy& policy, const AddressTuple& internal,
                          const AddressTuple& external) {
  struct Rights {
    const char* name;
    const AddressTuple& tuple;
    const std::vector<IpPrefix>& prefixes;
    const std::vector<PortRange>& ports;
  };
  for (const Rights& side :
       {Rights{"internal", internal, policy.internal, policy.internal_ports},
        Rights{"external", external, policy.external, policy.external_ports}}) {
    const std::string what = side.name;
    if (!within(side.prefixes, side.tuple)) {
      return what + " " + to_string(prefix_of(side.tuple)) + " is outside '" + what +
             "': " + list_of(side.prefixes);
    }
    if (!within(side.ports, side.tuple)) {
      return what + " port " + ports_of(side.tuple) + " is outside '" + what +
             "-ports': " + list_of(side.ports);
    }
    if (!policy.allows_protocol(side.tuple.protocol)) {
      return "protocol " + protocol_name(side.tuple.protocol) + " is not in 'protocols'";
    }
  }
  return {};
}

/// Returns the fault of a pair of tuples for which check_tuples(), called with the same arguments,
/// returns `code`; empty if the code suffices.
std::string tuple_fault(const AddressTuple& internal, const AddressTuple& external,
                        Direction direction, const Capabilities& capabilities,
                        const Protocols& supported, NegativeReplyCode code) {
  switch (code) {
    case kInconsistentRequest: return inconsistency(internal, external, direction);
    case kIpVersionMismatch: return version_fault(internal, external);
    case kWildcardingNotSupported:
      return unsupported_wildcard(internal, external, capabilities, supported);
    case kProtocolNotSupported:
      return "protocol " + protocol_name(internal.protocol) + " cannot be enforced" +
             (capabilities.nat ? " by a NAT, which needs ports" : "");
    case kIllegalAddress: return "a prefix is longer than an address";
    case kIllegalPortRange:
      return "the number of ports must be at least 1, and the last port at most 65535";
    case kIllegalPort: return "protocol " + protocol_name(internal.protocol) + " has no ports";
    default: return {};
  }
}

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

std::string in_quotes(std::string_view name) { return "'" + std::string(name) + "'"; }

/// Puts reasons into words. Holds nothing but the book.
class Reasons {
 public:
  explicit Reasons(const RuleBook& book) : book_(book) {}

  std::string of(const RequestContext& context, const Body& request, NegativeReplyCode code) const {
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

  std::string of(const rule::RuleChange& change, rule::ChangeResult result) const {
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

 private:
  std::string rule_text(RuleSlot slot) const {
    const Rule& rule = book_.rules[slot];
    return "rule " + std::to_string(rule.pid.value) + " of " +
           in_quotes(book_.agents[rule.owner].name);
  }

  std::string blocked_by(const AddressTuple& internal, const AddressTuple& external) const {
    const RuleSlot slot = book_.disable_rules.blocker(internal, external);
    return slot == kNoSlot ? std::string() : "disable " + rule_text(slot) + " blocks it";
  }

  // A PEA counts for the owner of the reservation.
  std::string exhausted(AgentId id, const Body& request) const {
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

  std::string no_authority(AgentId id, const Body& request) const {
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

  std::string no_access(AgentId id, const Body& request, PolicyRuleId pid) const {
    const RuleSlot slot = book_.find_visible(pid);
    if (slot == kNoSlot) return {};
    const char* right = std::holds_alternative<PrsRequest>(request) ? "'see'" : "'change'";
    return std::string(right) + " of " + in_quotes(book_.agents[id].name) + " does not include " +
           in_quotes(book_.agents[book_.rules[slot].owner].name) + ", the owner";
  }

  std::string about_rule(NegativeReplyCode code, PolicyRuleId pid) const {
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

  const RuleBook& book_;
};

}  // namespace

std::string reason_of(const RuleBook& book, const RequestContext& context, const Body& request,
                      NegativeReplyCode code) {
  return Reasons(book).of(context, request, code);
}

std::string reason_of(const RuleBook& book, const rule::RuleChange& change,
                      rule::ChangeResult result) {
  return Reasons(book).of(change, result);
}

}  // namespace simco::policy
