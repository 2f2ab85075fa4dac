#include "agent/simcoctl/for_me.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <expected>

#include "simco/wire/ip.hpp"

namespace simco::ctl {
namespace {

using boost::asio::ip::udp;

/// Addresses of a session.
struct Session {
  IpAddress own;
  IpAddress middlebox;
};

/// Without its zone.
IpAddress address_of(const boost::asio::ip::address& address) {
  const auto plain = address.is_v6() && !address.to_v6().is_v4_mapped()
                         ? boost::asio::ip::address_v6(address.to_v6().to_bytes())
                         : address;
  return parse_address(net::address_text(plain)).value_or(IpAddress());
}

/// Makes it one that has the local address `own`, if there is one.
bool bound(udp::socket& socket, const std::string& own) {
  if (own.empty()) return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(own, error);
  if (!error) socket.bind({address, 0}, error);
  return !error;
}

/// By the route to it from the address `own`, or from any if that is empty; without sending
/// anything.
std::expected<Session, std::string> session_with(net::HostPort& target, const std::string& own) {
  boost::asio::io_context io;
  udp::resolver resolver(io);
  boost::system::error_code error;
  const auto found = resolver.resolve(target.host, std::to_string(target.port), error);
  if (error) return std::unexpected("no address of " + target.host + ": " + error.message());
  for (const auto& entry : found) {
    udp::socket socket(io, entry.endpoint().protocol());
    if (!bound(socket, own)) continue;
    socket.connect(entry.endpoint(), error);
    if (error) continue;
    target.host = entry.endpoint().address().to_string();
    return Session{address_of(socket.local_endpoint().address()),
                   address_of(entry.endpoint().address())};
  }
  return std::unexpected("no route to " + target.host + (own.empty() ? "" : " from " + own));
}

}  // namespace

std::optional<std::string> set_sides(const ForMe& wanted, net::HostPort& target,
                                     agent::AgentOptions& options, PerRequest& request) {
  if (!target.further_hosts.empty()) return "--for-me: give one address of the middlebox";
  const std::string name = target.host;
  const auto& bind = options.transport.local_addresses;
  const auto session = session_with(target, bind.empty() ? "" : bind.front());
  if (!session) return "--for-me: " + session.error();
  if (session->own == session->middlebox && !wanted.external.prefix) {
    return "--for-me: the middlebox is on this machine, whose packets to itself need no rule; give "
           "another --connect, or --external";
  }
  // The certificate is for the host that the user named.
  if (options.transport.tls && options.transport.tls_name.empty())
    options.transport.tls_name = name;
  auto internal = wanted.internal;
  auto external = wanted.external;
  if (!internal.prefix) internal.prefix = host_prefix(session->middlebox);
  if (!external.prefix) external.prefix = host_prefix(session->own);
  if (internal.prefix->address.version != external.prefix->address.version)
    return "--for-me: both sides need the same IP version: give --internal and --external";
  const auto version = internal.prefix->address.version;
  request.internal = internal.tuple(version, wanted.protocol, Location::kInternal);
  request.external = external.tuple(version, wanted.protocol, Location::kExternal);
  if (port_ranges_differ(request.internal, request.external)) {
    return fmt::format("--for-me has {} ports and --external {}: both need the same number",
                       internal.port_range, external.port_range);
  }
  return std::nullopt;
}

}  // namespace simco::ctl
