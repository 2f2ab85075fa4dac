// SCTP, over either stack, as a row in the table of transports.
#pragma once

#include "simco/net/transport_type.hpp"

namespace simco::net::sctp {

/// One endpoint on all addresses; with the kernel's stack one more for each that is unspecified.
/// Throws std::runtime_error with a sentence.
void listen(const ListenRequest& request, Listening& result);
/// With several hosts and the kernel's stack, one association with all of them (multi-homing).
std::shared_ptr<Dialer> make_dialer(DialRequest request);
/// Returns "kernel" or "userland".
const char* stack(const TransportOptions& options);
/// Returns the options of SctpOptions by their names.
std::span<const TransportOption> options();
/// Returns what does not go together in what was chosen, or nothing.
std::optional<std::string> fault_in(const TransportSettings& settings);

}  // namespace simco::net::sctp
