// The packets that a pair of address tuples stands for, in a form that can be compared fast.
#pragma once

#include <compare>
#include <cstdint>

#include "simco/wire/ip.hpp"

namespace simco::policy {

/// An address as a number, its first octet the most significant. IPv4 addresses stand in the upper
/// 32 bits, so that a prefix is the same thing in both versions.
struct Address128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const Address128&, const Address128&) = default;
};

Address128 to_number(const IpAddress& address);

/// `address` with the bits beyond `length` cleared.
constexpr Address128 lowest_of(Address128 address, unsigned length) {
  if (length == 0) return {};
  if (length < 64) return {address.high & ~(~std::uint64_t{0} >> length), 0};
  if (length == 64) return {address.high, 0};
  if (length < 128) return {address.high, address.low & ~(~std::uint64_t{0} >> (length - 64))};
  return address;
}

/// `address` with the bits beyond `length` set.
constexpr Address128 highest_of(Address128 address, unsigned length) {
  if (length == 0) return {~std::uint64_t{0}, ~std::uint64_t{0}};
  if (length < 64) return {address.high | (~std::uint64_t{0} >> length), ~std::uint64_t{0}};
  if (length == 64) return {address.high, ~std::uint64_t{0}};
  if (length < 128) return {address.high, address.low | (~std::uint64_t{0} >> (length - 64))};
  return address;
}

/// What one side of a packet may look like.
struct Side {
  Address128 base;          ///< first address
  std::uint8_t length = 0;  ///< prefix length
  std::uint16_t first_port = 0;
  std::uint16_t last_port = 65535;  ///< 0 to 65535 where ports do not matter
};

/// What a packet may look like in the internal network (A0) and in the external one (A3).
struct Traffic {
  IpVersion version = IpVersion::kIpv4;
  std::uint8_t protocol = kProtocolAny;
  Side internal;
  Side external;
};

/// The traffic that a rule with these tuples is about; they have passed check_tuples().
Traffic traffic_of(const AddressTuple& internal, const AddressTuple& external);

/// Is there a packet that is in both (RFC 4540 section 8.8.1)? Each tuple is taken by itself, as
/// the RFC has it: that ranges of ports are mapped in order narrows nothing.
bool overlap(const Traffic& a, const Traffic& b);

/// True for traffic that leaves nothing out of its protocol and IP version.
bool is_everything(const Traffic& traffic);

/// How many elements a rule between such tuples takes where it is enforced, at most: one for each
/// port, and for a translation two more, for twice NAT four.
std::uint16_t elements_of(const AddressTuple& internal, const AddressTuple& external,
                          unsigned translations);

/// Whether a rule between such tuples is about known ports of one internal host, and of one
/// external host or any traffic from outside. Most rules are, and cost least where they are
/// enforced.
bool is_common(const AddressTuple& internal, const AddressTuple& external);

}  // namespace simco::policy
