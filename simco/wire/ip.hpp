// IP addresses and prefixes as values, and as people write them. The wire has its own form, the
// address tuple (attributes.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simco/wire/attributes.hpp"

namespace simco {

struct IpAddress {
  IpVersion version = IpVersion::kIpv4;
  std::array<std::byte, 16> octets{};  ///< network order; IPv4 uses the first four
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

/// Addresses that agree with `address` in their first `length` bits; the others of it are 0.
struct IpPrefix {
  IpAddress address;
  std::uint8_t length = 32;
  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;
};

/// `address` with all bits beyond `length` set to 0.
IpAddress masked(const IpAddress& address, unsigned length);

/// The prefix that holds `address` alone.
IpPrefix host_prefix(const IpAddress& address);

/// True if `outer` contains every address of `inner`.
bool contains(const IpPrefix& outer, const IpPrefix& inner);

/// Returns the number of significant bits of the address: none in `protocols only`. A prefix length
/// that is too long counts as the longest.
inline std::uint8_t prefix_length(const AddressTuple& tuple) {
  if (tuple.form == AddressForm::kProtocolsOnly) return 0;
  return std::min(tuple.prefix_length, address_bits(tuple.ip_version));
}

/// The addresses of `tuple`: all of its IP version in `protocols only`. A prefix length that is too
/// long counts as the longest.
IpPrefix prefix_of(const AddressTuple& tuple);

/// True if the ports are meaningful: a full address with a transport protocol and a port (4.3.8).
inline bool has_ports(const AddressTuple& tuple) {
  return tuple.form == AddressForm::kFullAddress && tuple.protocol != kProtocolAny &&
         tuple.port != 0;
}

/// True if both sides have ports and not as many: neither range fits any other (8.3.1).
inline bool port_ranges_differ(const AddressTuple& internal, const AddressTuple& external) {
  return has_ports(internal) && has_ports(external) && internal.port_range != kAnyPortRange &&
         external.port_range != kAnyPortRange && internal.port_range != external.port_range;
}

/// True for protocols whose headers have ports: TCP, UDP, UDP-Lite, DCCP, SCTP.
constexpr bool protocol_has_ports(std::uint8_t protocol) {
  switch (protocol) {
    case kProtocolTcp:
    case kProtocolUdp:
    case kProtocolDccp:
    case kProtocolSctp:
    case kProtocolUdpLite: return true;
    default: return false;
  }
}

/// True if the tuple means several addresses (8.3.1).
inline bool wildcards_address(const AddressTuple& tuple) {
  return tuple.form != AddressForm::kFullAddress ||
         tuple.prefix_length < address_bits(tuple.ip_version);
}

/// True if it means all ports. A wildcarded protocol wildcards the ports too, but that counts as
/// protocol wildcarding (8.3.1). Where the protocol has no ports, there are none to wildcard.
constexpr bool wildcards_ports(const AddressTuple& tuple) {
  return protocol_has_ports(tuple.protocol) &&
         (tuple.form != AddressForm::kFullAddress || tuple.port == 0);
}

/// True if either side means several addresses or ports, so that the rule has one direction.
inline bool has_wildcard(const AddressTuple& internal, const AddressTuple& external) {
  return wildcards_address(internal) || wildcards_address(external) || wildcards_ports(internal) ||
         wildcards_ports(external);
}

/// The direction of a rule whose agent names none: inbound where a wildcard forbids both (8.3.1).
inline Direction usual_direction(const AddressTuple& internal, const AddressTuple& external) {
  return has_wildcard(internal, external) ? Direction::kInbound : Direction::kBidirectional;
}

/// Parses "192.0.2.7" or "2001:db8::7". Returns nullopt if `text` is not an address.
std::optional<IpAddress> parse_address(std::string_view text);

/// Parses "192.0.2.0/24", or an address, which is a prefix of full length. Returns nullopt if
/// `text` is not a prefix, or has bits set beyond its length.
std::optional<IpPrefix> parse_prefix(std::string_view text);

/// Returns a complaint about `text` if it is an IPv6 address (or prefix) without brackets whose end
/// may be meant as a port, as in "2001:db8::5:5004": both readings, or the possible one. Returns
/// nullopt for any other text.
std::optional<std::string> missing_brackets(std::string_view text);

std::string to_string(const IpAddress& address);
/// Returns the form that parse_prefix() reads, without "/length" if the length is full.
std::string to_string(const IpPrefix& prefix);

}  // namespace simco
