// The checks of 8.3.1 as small functions, called in the order of doc/rfc4540.md, reading 9.
#include "middlebox/policy/checks.hpp"

namespace simco::policy {
namespace {

bool is_full(const AddressTuple& tuple) { return tuple.form == AddressForm::kFullAddress; }

bool supports_version(std::uint8_t versions, IpVersion version) {
  return (versions & static_cast<std::uint8_t>(version)) != 0;
}

std::optional<NegativeReplyCode> check_prefix(const AddressTuple& tuple) {
  if (is_full(tuple) && tuple.prefix_length > address_bits(tuple.ip_version)) {
    return NegativeReplyCode::kIllegalAddress;
  }
  return std::nullopt;
}

std::optional<NegativeReplyCode> check_port_range(const AddressTuple& tuple) {
  if (!has_ports(tuple)) return std::nullopt;
  const unsigned last_port = unsigned{tuple.port} + tuple.port_range - 1;
  if (tuple.port_range == 0 || last_port > 65535) return NegativeReplyCode::kIllegalPortRange;
  return std::nullopt;
}

}  // namespace

Protocols translatable_protocols() {
  Protocols result;
  result[kProtocolAny] = true;
  for (unsigned protocol = 1; protocol < result.size(); ++protocol) {
    result[protocol] = protocol_has_ports(static_cast<std::uint8_t>(protocol));
  }
  return result;
}

std::optional<NegativeReplyCode> check_tuples(const AddressTuple& internal,
                                              const AddressTuple& external, Direction direction,
                                              const Capabilities& capabilities,
                                              const Protocols& supported) {
  using enum NegativeReplyCode;
  if (internal.location != Location::kInternal || external.location != Location::kExternal) {
    return kInconsistentRequest;
  }
  if (internal.protocol != external.protocol) return kInconsistentRequest;
  if (internal.ip_version != external.ip_version && !capabilities.protocol_translation) {
    return kIpVersionMismatch;
  }
  if (!supports_version(capabilities.internal_versions, internal.ip_version) ||
      !supports_version(capabilities.external_versions, external.ip_version)) {
    return kIpVersionMismatch;
  }
  for (const AddressTuple* tuple : {&internal, &external}) {
    if (const auto code = check_prefix(*tuple)) return code;
  }
  for (const AddressTuple* tuple : {&internal, &external}) {
    if (const auto code = check_port_range(*tuple)) return code;
  }
  if (port_ranges_differ(internal, external)) return kInconsistentRequest;
  if (direction == Direction::kBidirectional && has_wildcard(internal, external)) {
    return kInconsistentRequest;
  }
  const bool any_port = wildcards_ports(internal) || wildcards_ports(external);
  const bool refused = (wildcards_address(internal) && !capabilities.internal_wildcards) ||
                       (wildcards_address(external) && !capabilities.external_wildcards) ||
                       (any_port && !capabilities.port_wildcards) ||
                       (internal.protocol == kProtocolAny && !supported[kProtocolAny]);
  if (refused) return kWildcardingNotSupported;
  if (internal.protocol != kProtocolAny && !supported[internal.protocol]) {
    return kProtocolNotSupported;
  }
  const bool ports = has_ports(internal) || has_ports(external);
  if (ports && !protocol_has_ports(internal.protocol)) return kIllegalPort;
  return std::nullopt;
}

}  // namespace simco::policy
