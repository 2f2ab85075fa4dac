// The published messages for each figure of RFC 4540 section 5 (tests/vectors/messages.json), and
// address tuples and requests to make others of.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "simco/wire/messages.hpp"
#include "tests/support/octets.hpp"

namespace simco::test {

struct FigureCase {
  std::string name;
  Octets octets;
};

inline AddressTuple ipv4(Location location, std::array<int, 4> address, std::uint16_t port,
                         std::uint16_t range = 2, std::uint8_t protocol = kProtocolUdp) {
  AddressTuple tuple;
  tuple.location = location;
  tuple.protocol = protocol;
  tuple.port = port;
  tuple.port_range = range;
  for (std::size_t i = 0; i < 4; ++i) tuple.address[i] = static_cast<std::byte>(address[i]);
  return tuple;
}

/// 2001:db8::`last`
inline AddressTuple ipv6(Location location, std::uint8_t last, std::uint16_t port) {
  AddressTuple tuple = ipv4(location, {0x20, 0x01, 0x0d, 0xb8}, port);
  tuple.ip_version = IpVersion::kIpv6;
  tuple.prefix_length = 128;
  tuple.address[15] = static_cast<std::byte>(last);
  return tuple;
}

inline AddressTuple protocols_only(Location location, std::uint8_t protocol) {
  AddressTuple tuple;
  tuple.form = AddressForm::kProtocolsOnly;
  tuple.prefix_length = 0;
  tuple.protocol = protocol;
  tuple.location = location;
  return tuple;
}

/// A PER request that every firewall grants.
inline PerRequest pinhole(std::uint16_t port = 5004, std::uint32_t lifetime_s = 60) {
  return {{PortParity::kAny, Direction::kBidirectional},
          ipv4(Location::kInternal, {10, 0, 0, 5}, port),
          ipv4(Location::kExternal, {192, 0, 2, 7}, 6000),
          {lifetime_s},
          {}};
}

/// Returns the code of a negative reply, or nothing.
inline std::optional<NegativeReplyCode> refusal(const Body& body) {
  const auto* refused = std::get_if<NegativeReply>(&body);
  return refused == nullptr ? std::nullopt : std::optional(refused->code);
}

/// All figures.
std::vector<FigureCase> figure_cases();

}  // namespace simco::test
