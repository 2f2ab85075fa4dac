// SCTP in this process (usrsctp), over UDP (RFC 6951) or, with CAP_NET_RAW, directly over IP.
//
// usrsctp has its state once per process, so it serves one event loop: that of the executor that
// uses it first, until its execution context is gone. Everything happens on that loop; usrsctp's
// locks are never contended.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <expected>
#include <memory>
#include <vector>

#include "simco/net/listener.hpp"
#include "simco/net/sctp/socket.hpp"
#include "simco/net/transport.hpp"

namespace simco::net::sctp {

/// Begins an association. The first Input is kConnected or kError.
std::expected<std::unique_ptr<Socket>, boost::system::error_code> connect_userland(
    const boost::asio::any_io_executor& executor, const boost::asio::ip::address& address,
    std::uint16_t port, const SctpOptions& options);

/// Listens on `port` behind the UDP port of `options` (or over IP) of each address. Throws
/// boost::system::system_error on failure.
std::unique_ptr<Listener> listen_userland(const boost::asio::any_io_executor& executor,
                                          const std::vector<boost::asio::ip::address>& addresses,
                                          std::uint16_t port, const SctpOptions& options,
                                          ReadBuffer& read_buffer, Listener::OnAccept on_accept,
                                          Listener::OnError on_error);

}  // namespace simco::net::sctp
