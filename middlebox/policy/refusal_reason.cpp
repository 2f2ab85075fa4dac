// Looks for the check that a refused request failed, after the fact: the checks themselves only
// answer with codes, so that a refusal costs nothing.
#include "middlebox/policy/refusal_reason.hpp"

#include "middlebox/policy/limits.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::policy {
namespace {

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

}  // namespace

std::string_view name_of(Transaction transaction) {
  switch (transaction) {
    case Transaction::kPrr: return "PRR";
    case Transaction::kPer: return "PER";
    case Transaction::kPea: return "PEA";
    case Transaction::kPdr: return "PDR";
    case Transaction::kPlc: return "PLC";
    case Transaction::kPrs: return "PRS";
    case Transaction::kPrl: return "PRL";
  }
  return "?";
}

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

std::string tuple_fault(const AddressTuple& internal, const AddressTuple& external,
                        Direction direction, const Capabilities& capabilities,
                        const Protocols& supported, NegativeReplyCode code) {
  using enum NegativeReplyCode;
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

}  // namespace simco::policy
