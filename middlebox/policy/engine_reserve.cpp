// PRR (RFC 4540 section 8.2): reserves addresses and ports for a later enable rule. Checks the
// request, chooses the IP version, and has the NAT allocate the addresses and ports.
#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"

namespace simco::policy {
namespace {

using enum NegativeReplyCode;

Parity wanted_parity(ReservedParity wanted) {
  switch (wanted) {
    case ReservedParity::kOdd: return Parity::kOdd;
    case ReservedParity::kEven: return Parity::kEven;
    case ReservedParity::kAny: break;
  }
  return Parity::kAny;
}

bool has_version(std::uint8_t versions, IpVersion version) {
  return (versions & static_cast<std::uint8_t>(version)) != 0;
}

}  // namespace

// 8.2.1: each side is what was asked for, and without protocol translation both are the same. What
// was left open is IPv4 where the middlebox has that.
PolicyEngine::Code PolicyEngine::choose_version(const PrrParameterSet& wanted,
                                                IpVersion& version) const {
  const auto inside = wanted.inside_version;
  const auto outside = wanted.outside_version;
  const auto any = RequestedIpVersion::kAny;
  if (inside != any && outside != any && inside != outside) return kIpVersionMismatch;
  const auto versions =
      static_cast<std::uint8_t>(capabilities_.internal_versions & capabilities_.external_versions);
  const auto asked = outside != any ? outside : inside;
  if (asked == any) {
    version = has_version(versions, IpVersion::kIpv4) ? IpVersion::kIpv4 : IpVersion::kIpv6;
  } else {
    version = asked == RequestedIpVersion::kIpv4 ? IpVersion::kIpv4 : IpVersion::kIpv6;
  }
  return has_version(versions, version) ? std::nullopt : Code(kIpVersionMismatch);
}

PolicyEngine::Code PolicyEngine::check_reserve(const RequestContext& context,
                                               const PrrRequest& request) const {
  const auto& wanted = request.parameters;
  if (const auto code = check_group(context, request.group)) return code;
  const AgentPolicy& policy = *agents_[context.agent].policy;
  if (!policy.allows_protocol(wanted.protocol)) return kAgentNotAuthorized;
  const bool any_protocol = wanted.protocol == kProtocolAny;
  if (any_protocol && !policy.protocol_wildcards) return kWildcardingNotSupported;
  IpVersion version{};
  if (const auto code = choose_version(wanted, version)) return code;
  if (!any_protocol && !translated_[wanted.protocol]) return kProtocolNotSupported;
  if (!any_protocol && wanted.port_range == 0) return kIllegalPortRange;
  // 8.2.1: refused here what a PEA could never get.
  if (blocks_everything(version, wanted.protocol)) return kAddressSpaceNotAvailable;
  return std::nullopt;
}

Verdict PolicyEngine::reserve(const RequestContext& context, const PrrRequest& request, Instant now,
                              Plan& plan) {
  if (const auto code = check_reserve(context, request)) return refuse(context, plan, *code);
  const Lifetime lifetime = grant(context, request.lifetime);
  if (lifetime == Lifetime{0}) return refuse(context, plan, kConfigurationFailed);
  // 8.2.3, after all that 8.2.1 has.
  const auto needed = nat_.mode() == Mode::kTwiceNat ? NatMode::kTwice : NatMode::kTraditional;
  if (nat_.translates() && request.parameters.nat_mode != needed) {
    return refuse(context, plan, kNatModeNotSupported);
  }
  if (const auto code = check_resources(context.agent)) return refuse(context, plan, *code);
  const auto& wanted = request.parameters;
  IpVersion version{};
  choose_version(wanted, version);
  const RuleSlot slot = create_rule(context, RuleKind::kReserve, request.group);
  Rule& rule = rules_[slot];
  rule.internal = rule.external = any_address(version, wanted.protocol);
  rule.any_version = !nat_.translates() && wanted.inside_version == RequestedIpVersion::kAny &&
                     wanted.outside_version == RequestedIpVersion::kAny;
  if (nat_.translates()) {
    const NatTable::Reservation reservation{version, wanted.protocol, wanted.port_range,
                                            wanted_parity(wanted.parity)};
    if (const auto code = nat_.take(slot, reservation)) {
      destroy_rule(slot);
      return refuse(context, plan, *code);
    }
  }
  return plan_addition(slot, lifetime, now, plan);
}

// 8.2.2 on a firewall: nothing but the protocol; 8.2.3 on a NAT: what was taken.
PrrReply PolicyEngine::reserved(RuleSlot slot, Lifetime lifetime) const {
  const Rule& rule = rules_[slot];
  PrrReply reply{rule.pid, rule.group, lifetime, {}, {}};
  if (nat_.translates()) {
    reply.outside = outside_of(slot);
    reply.inside = inside_of(slot);
  } else {
    // Not from the tuples as they are: a PEA may be about to change them.
    const auto tuple = any_address(rule.internal.ip_version, rule.internal.protocol);
    reply.outside = at(tuple, Location::kOutside);
  }
  return reply;
}

}  // namespace simco::policy
