// Bounds of an agent's session. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco {

/// Default timeout for opening a session and for the reply to a transaction.
inline constexpr std::chrono::seconds kAgentTimeoutDefault{60};
/// Maximum number of open transactions of one agent.
inline constexpr std::size_t kAgentPendingMax = 1'048'576;
/// Maximum number of rule events that are kept; beyond it, the oldest are dropped and counted.
inline constexpr std::size_t kAgentEventsMax = 65'536;
/// Octets of output beyond which StreamAgent accepts no further request.
inline constexpr std::size_t kAgentOutputMax = 1'048'576;

}  // namespace simco
