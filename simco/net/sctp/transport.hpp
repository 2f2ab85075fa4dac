// SCTP, over either stack, as a row in the table of transports.
#pragma once

#include "simco/net/transport_type.hpp"

namespace simco::net::sctp {

/// An endpoint on all addresses; with the kernel's stack, a further endpoint for each unspecified
/// address. Throws std::runtime_error with a sentence.
void listen(const ListenRequest& request, Listening& result);
/// With several hosts and the kernel's stack, an association with all of them (multi-homing).
std::shared_ptr<Dialer> make_dialer(DialRequest request);
/// Returns "kernel" or "userland".
const char* stack(const TransportOptions& options);
/// Returns the options of SctpOptions by their names.
std::span<const TransportOption> options();
/// Returns a sentence about options that exclude each other, or nothing.
std::optional<std::string> fault_in(const TransportSettings& settings);

}  // namespace simco::net::sctp
