// The kernel's SCTP (lksctp) through one-to-one sockets, RFC 6458 section 4.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "simco/net/listener.hpp"
#include "simco/net/sctp/socket.hpp"
#include "simco/net/transport.hpp"

namespace simco::net::sctp {

/// Whether this kernel has SCTP. Asking loads the module where that is possible.
bool kernel_has_sctp();
/// Whether these options mean the kernel's stack on this machine.
bool use_kernel(const SctpOptions& options);
/// UDP port of the kernel's own encapsulation in this network namespace (sysctl
/// net.sctp.udp_port); 0: off, or too old for it.
std::uint16_t kernel_udp_port();

/// Whether the kernel gives associations the buffers that `options` ask for.
bool kernel_grants_buffers(const SctpOptions& options);

/// Begins an association with the peer that has all of `addresses`, from all of `local` (empty:
/// any). The first Input is kConnected or kError.
std::expected<std::unique_ptr<Socket>, boost::system::error_code> connect_kernel(
    const boost::asio::any_io_executor& executor,
    const std::vector<boost::asio::ip::address>& addresses, std::uint16_t port,
    const std::vector<boost::asio::ip::address>& local, const SctpOptions& options);

/// Listens with an endpoint on all of `addresses`. Throws boost::system::system_error on failure.
std::unique_ptr<Listener> listen_kernel(const boost::asio::any_io_executor& executor,
                                        const std::vector<boost::asio::ip::address>& addresses,
                                        std::uint16_t port, const SctpOptions& options,
                                        ReadBuffer& read_buffer, Listener::OnAccept on_accept,
                                        Listener::OnError on_error);

}  // namespace simco::net::sctp
