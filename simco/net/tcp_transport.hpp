// TCP, with TLS over it or not, as a row in the table of transports.
#pragma once

#include "simco/net/transport_type.hpp"

namespace simco::net {

/// A listener for each address. Throws std::runtime_error with a sentence.
void listen_tcp(const ListenRequest& request, Listening& result);
std::shared_ptr<Dialer> make_tcp_dialer(DialRequest request);
/// Returns "kernel".
const char* tcp_stack(const TransportOptions& options);
/// Returns none: there is nothing to choose.
std::span<const TransportOption> tcp_options();
std::optional<std::string> fault_in_tcp(const TransportSettings& settings);

}  // namespace simco::net
