// QUIC (RFC 9000) as a row in the table of transports.
#pragma once

#include "simco/net/transport_type.hpp"

namespace simco::net::quic {

/// A listener for each address. Throws std::runtime_error with a sentence.
void listen(const ListenRequest& request, Listening& result);
/// Returns a function that makes a UDP socket for each connection.
std::shared_ptr<Dialer> make_dialer(DialRequest request);
/// Returns "userland".
const char* stack(const TransportOptions& options);
/// Returns the options of QuicOptions by their names, but for the number of streams.
std::span<const TransportOption> options();
/// Returns a sentence about options that exclude each other, or nothing.
std::optional<std::string> fault_in(const TransportSettings& settings);
/// Returns why there is no QUIC with these certificates, or nothing.
std::optional<std::string> fault_in_tls(const TlsContext* tls);

}  // namespace simco::net::quic
