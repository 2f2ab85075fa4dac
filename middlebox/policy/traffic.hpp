// The packets that a pair of address tuples describes, in a form that is fast to compare.
#pragma once

#include <compare>
#include <cstdint>

#include "simco/wire/ip.hpp"

namespace simco::policy {

/// An address as a number, its first octet the most significant. IPv4 addresses use the upper 32
/// bits, so that prefixes work alike in both versions.
struct Address128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const Address128&, const Address128&) = default;
};

/// Returns `address` as a number.
Address128 to_number(const IpAddress& address);

/// Returns `address` with the bits beyond `length` cleared.
constexpr Address128 lowest_of(Address128 address, unsigned length) {
  if (length == 0) return {};
  if (length < 64) return {address.high & ~(~std::uint64_t{0} >> length), 0};
  if (length == 64) return {address.high, 0};
  if (length < 128) return {address.high, address.low & ~(~std::uint64_t{0} >> (length - 64))};
  return address;
}

/// Returns `address` with the bits beyond `length` set.
constexpr Address128 highest_of(Address128 address, unsigned length) {
  if (length == 0) return {~std::uint64_t{0}, ~std::uint64_t{0}};
  if (length < 64) return {address.high | (~std::uint64_t{0} >> length), ~std::uint64_t{0}};
  if (length == 64) return {address.high, ~std::uint64_t{0}};
  if (length < 128) return {address.high, address.low | (~std::uint64_t{0} >> (length - 64))};
  return address;
}

/// The packets that match on a side.
struct Side {
  Address128 base;          ///< first address
  std::uint8_t length = 0;  ///< prefix length
  std::uint16_t first_port = 0;
  std::uint16_t last_port = 65535;  ///< 0 to 65535 if ports do not matter
};

/// The packets that match in the internal network (A0) and in the external network (A3).
struct Traffic {
  IpVersion version = IpVersion::kIpv4;
  std::uint8_t protocol = kProtocolAny;
  Side internal;
  Side external;
};

/// Returns the traffic of a rule with these tuples, which must have passed check_tuples().
Traffic traffic_of(const AddressTuple& internal, const AddressTuple& external);

/// True if some packet is in both (RFC 4540 section 8.8.1). As in the RFC, each tuple is considered
/// separately, although ranges of ports are mapped in order.
bool overlap(const Traffic& a, const Traffic& b);

/// True for all traffic of a protocol and IP version.
bool is_everything(const Traffic& traffic);

/// Returns the maximum number of elements that a rule between such tuples takes in the backend: one
/// per port, with two more for a translation and four for a twice NAT.
std::uint16_t elements_of(const AddressTuple& internal, const AddressTuple& external,
                          unsigned translations);

/// True if a rule between such tuples is for known ports of an internal host, and of an external
/// host or any traffic from outside. Most rules are, and they cost least in the backend.
bool is_common(const AddressTuple& internal, const AddressTuple& external);

}  // namespace simco::policy
