// The functions that the rows of the table of transports name.
//
// A listen() opens a listener for each address, and throws std::runtime_error with a sentence.
#pragma once

#include "simco/net/transport_type.hpp"

namespace simco::net {

// TCP, with TLS over it or not.
void listen_tcp(const ListenRequest& request, Listening& result);
std::shared_ptr<Dialer> make_tcp_dialer(DialRequest request);

namespace sctp {
/// An endpoint on all addresses; with the kernel's stack, a further endpoint for each unspecified
/// address.
void listen(const ListenRequest& request, Listening& result);
/// With several hosts and the kernel's stack, an association with all of them (multi-homing).
std::shared_ptr<Dialer> make_dialer(DialRequest request);
const char* stack(const TransportOptions& options);
/// Returns the options of SctpOptions by their names.
std::span<const TransportOption> options();
std::optional<std::string> fault_in(const TransportSettings& settings);
std::optional<std::string> fault_in_use(const TransportSettings& settings, const TlsContext* tls);
}  // namespace sctp

// RFC 9000.
namespace quic {
void listen(const ListenRequest& request, Listening& result);
/// Returns a function that makes a UDP socket for each connection.
std::shared_ptr<Dialer> make_dialer(DialRequest request);
/// Returns the options of QuicOptions by their names, but for the number of streams.
std::span<const TransportOption> options();
std::optional<std::string> fault_in(const TransportSettings& settings);
std::optional<std::string> fault_in_use(const TransportSettings& settings, const TlsContext* tls);
}  // namespace quic

namespace udp {
/// Each address has a channel for each peer.
void listen(const ListenRequest& request, Listening& result);
/// Returns a function that makes a socket for a channel of its own; nothing is sent.
std::shared_ptr<Dialer> make_dialer(DialRequest request);
}  // namespace udp

}  // namespace simco::net
