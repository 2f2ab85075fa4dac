// Bounds of an agent's session. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco {

/// Default timeout for opening a session and for the reply to a transaction.
inline constexpr std::chrono::seconds kAgentTimeoutDefault{60};
/// A connection of an agent is lost when nothing that was sent has been acknowledged for so long.
inline constexpr std::chrono::seconds kAgentSilenceMax{3};
/// Maximum number of open transactions of an agent, with those that wait for their turn.
inline constexpr std::size_t kAgentPendingMax = 1'048'576;
/// Maximum number of rule events that are kept; beyond it, the oldest are dropped and counted.
inline constexpr std::size_t kAgentEventsMax = 65'536;
/// A renewal of a kept rule that failed is not repeated earlier than this.
inline constexpr std::chrono::seconds kRenewalRetryMin{1};
/// Requests about kept rules that are under way at a time: others of the session do not wait behind
/// those of a hundred thousand rules.
inline constexpr std::size_t kKeptRequestsMax = 256;
/// Default first and longest delay before an attempt to reconnect (Backoff).
inline constexpr std::chrono::milliseconds kReconnectDelayFirst{100};
inline constexpr std::chrono::seconds kReconnectDelayMax{30};
/// Octets of output beyond which StreamAgent accepts no further request.
inline constexpr std::size_t kAgentOutputMax = 1'048'576;

}  // namespace simco
