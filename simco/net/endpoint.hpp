// Addresses and ports as people write them.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace simco::net {

/// A host (name or address) and a port.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// Reads `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`; a bare IPv6 address needs no brackets. The
/// error is a sentence that names the fault.
std::expected<HostPort, std::string> parse_host_port(std::string_view text,
                                                     std::uint16_t default_port);

}  // namespace simco::net
