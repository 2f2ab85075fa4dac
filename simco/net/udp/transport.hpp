// UDP as a row in the table of transports.
#pragma once

#include "simco/net/transport_type.hpp"

namespace simco::net::udp {

/// A listener for each address, with a channel for each peer. Throws std::runtime_error with a
/// sentence.
void listen(const ListenRequest& request, Listening& result);
/// Returns a function that makes a socket for a channel of its own; nothing is sent.
std::shared_ptr<Dialer> make_dialer(DialRequest request);
/// Returns "kernel".
const char* stack(const TransportOptions& options);
/// Returns none: there is nothing to choose.
std::span<const TransportOption> options();
std::optional<std::string> fault_in(const TransportSettings& settings);

}  // namespace simco::net::udp
