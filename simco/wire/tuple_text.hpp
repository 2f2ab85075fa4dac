// Address tuples (RFC 4540 section 4.3.8) as people write and read them:
//
//   10.0.0.5:5004/2      an address and two consecutive ports from 5004 on
//   10.0.0.5:5004        one port
//   10.0.0.5             all ports
//   192.0.2.0/24:6000    a prefix and a port
//   [2001:db8::5]:5004   IPv6 with a port; [2001:db8::/32]:5004 too
//   2001:db8::5          IPv6 without one needs brackets only if its end could be a port
//   any, any:5060        every address
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "simco/wire/attributes.hpp"
#include "simco/wire/ip.hpp"

namespace simco {

/// One side of a rule as text; protocol and location are given separately.
struct Endpoint {
  std::optional<IpPrefix> prefix;  ///< nullopt: any
  std::uint16_t port = 0;          ///< 0: any
  std::uint16_t port_range = 1;    ///< consecutive ports

  /// Returns the tuple. `version` is used if the address is any. Any address and any port yields
  /// `protocols only`.
  AddressTuple tuple(IpVersion version, std::uint8_t protocol, Location location) const;
};

/// Parses the forms above. The error is a phrase that names the part at fault.
std::expected<Endpoint, std::string> parse_endpoint(std::string_view text);

/// Parses the name or number of a protocol. Returns nullopt for any other text, and for 0.
std::optional<std::uint8_t> parse_protocol(std::string_view text);

/// Consecutive ports, both ends included.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// Parses "30000-40000", or a port. Returns nullopt for any other text, and for ports below
/// `least`.
std::optional<PortRange> parse_port_range(std::string_view text, std::uint16_t least = 0);

/// Ports of a protocol that has some.
struct ProtocolPorts {
  std::uint8_t protocol = 0;
  PortRange ports;
};

/// Parses "udp:30000-40000" or "tcp:22". The error is a phrase.
std::expected<ProtocolPorts, std::string> parse_protocol_ports(std::string_view text);

/// Returns the name, such as "udp", or the number; "any" for 0.
std::string protocol_name(std::uint8_t protocol);

/// Returns the tuple without protocol and location, in the form that parse_endpoint() reads.
std::string to_text(const AddressTuple& tuple);

}  // namespace simco
