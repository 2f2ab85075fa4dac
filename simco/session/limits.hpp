// Bounds of an agent's session. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco {

/// How long opening a session may take, and how long a transaction waits for its reply, unless told
/// otherwise.
inline constexpr std::chrono::seconds kAgentTimeoutDefault{60};
/// Transactions of one agent that may wait for their replies.
inline constexpr std::size_t kAgentPendingMax = 1'048'576;
/// Rule events kept until they are taken; beyond this the oldest are dropped and counted.
inline constexpr std::size_t kAgentEventsMax = 65'536;
/// Octets that AgentStream queues for the middlebox; beyond this it takes no further request.
inline constexpr std::size_t kAgentOutputMax = 1'048'576;

}  // namespace simco
