// Addresses and ports as people write them.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simco::net {

/// A host (name or address) and a port. Not an aggregate: g++ 12 destroys a braced aggregate twice
/// when it is made inside a co_await expression, as in `co_await agent.open({"proxy", 7626},
/// use_awaitable)`.
struct HostPort {
  HostPort() = default;
  HostPort(std::string host_name, std::uint16_t port_number)
      : host(std::move(host_name)), port(port_number) {}

  std::string host;
  std::uint16_t port = 0;
  /// Other addresses of the same peer: paths of one association (SCTP), or the first that
  /// answers (TCP).
  std::vector<std::string> further_hosts;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// Reads `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`; an IPv6 address without a port needs
/// brackets only if its end could be a port. Several hosts of a peer stand before it, each with a
/// comma: `HOST,HOST:PORT`. The error is a sentence that names the fault.
std::expected<HostPort, std::string> parse_host_port(std::string_view text,
                                                     std::uint16_t default_port);

/// Reads `ADDRESS:PORT`, a numeric address; the port is optional unless `default_port` is 0. The
/// error is a phrase.
std::expected<HostPort, std::string> parse_address_port(std::string_view text,
                                                        std::uint16_t default_port = 0);

/// Reads an address to listen on, IPv6 with or without brackets as above. The error is a phrase.
std::expected<std::string, std::string> parse_listen_address(std::string_view text);

/// `ADDRESS:PORT`, with brackets around an IPv6 address.
std::string endpoint_text(const std::string& address, std::uint16_t port);

/// `address`; an IPv4 address that an IPv6 socket shows as its own kind is IPv4 again.
std::string address_text(boost::asio::ip::address address);

}  // namespace simco::net
