#include "middlebox/backend/match/element.hpp"

#include <algorithm>

namespace simco::backend::match {
namespace {

bool prefixes_overlap(const std::array<std::byte, 16>& a, unsigned a_bits,
                      const std::array<std::byte, 16>& b, unsigned b_bits) {
  const unsigned bits = std::min(a_bits, b_bits);
  return masked({IpVersion::kIpv6, a}, bits) == masked({IpVersion::kIpv6, b}, bits);
}

}  // namespace

bool overlap(const Key& a, const Key& b) {
  const bool protocols = a.any_protocol != 0 || b.any_protocol != 0 || a.protocol == b.protocol;
  return protocols && a.internal_port <= b.internal_last && b.internal_port <= a.internal_last &&
         a.external_port <= b.external_last && b.external_port <= a.external_last &&
         prefixes_overlap(a.internal, a.internal_bits, b.internal, b.internal_bits) &&
         prefixes_overlap(a.external, a.external_bits, b.external, b.external_bits);
}

bool ports_match(const Mask& mask, const Ends& ends) {
  const bool pairs = mask.internal_port_bits == 15 && mask.external_port_bits == 15;
  return !pairs || ends.internal_port % 2 == ends.external_port % 2;
}

Key key_of(const Mask& mask, const Ends& ends) {
  const auto mask_port = [](std::uint16_t port, unsigned bits) {
    return static_cast<std::uint16_t>(port & ~(0xFFFFU >> bits));
  };
  Key key;
  key.internal = masked({ends.version, ends.internal}, mask.internal_bits).octets;
  key.external = masked({ends.version, ends.external}, mask.external_bits).octets;
  key.internal_port = key.internal_last = mask_port(ends.internal_port, mask.internal_port_bits);
  key.external_port = key.external_last = mask_port(ends.external_port, mask.external_port_bits);
  if (mask.protocol) key.protocol = ends.protocol;
  return key;
}

Key point_of(const Ends& ends) {
  Key key;
  key.internal = ends.internal;
  key.external = ends.external;
  key.internal_bits = key.external_bits = address_bits(ends.version);
  key.internal_port = key.internal_last = ends.internal_port;
  key.external_port = key.external_last = ends.external_port;
  key.protocol = ends.protocol;
  return key;
}

}  // namespace simco::backend::match
