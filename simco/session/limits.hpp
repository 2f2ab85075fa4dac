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
/// Maximum number of open transactions of one agent, with those that wait for their turn.
inline constexpr std::size_t kAgentPendingMax = 1'048'576;
/// Maximum number of rule events that are kept; beyond it, the oldest are dropped and counted.
inline constexpr std::size_t kAgentEventsMax = 65'536;
/// A renewal of a kept rule that failed is not repeated earlier than this.
inline constexpr std::chrono::seconds kRenewalRetryMin{1};
/// Requests about kept rules that are under way at a time: others of the session do not wait behind
/// those of a hundred thousand rules.
inline constexpr std::size_t kKeptRequestsMax = 256;
/// Default delay before the first attempt to reconnect, and the longest one (Backoff).
inline constexpr std::chrono::milliseconds kReconnectDelayFirst{100};
inline constexpr std::chrono::seconds kReconnectDelayMax{30};
/// Octets of output beyond which StreamAgent accepts no further request.
inline constexpr std::size_t kAgentOutputMax = 1'048'576;
/// Octets of the longest request that is repeated (RequestRepeater), and of the longest reply that
/// is kept for a repeated one (ReplyMemory). Requests and replies about one rule are shorter.
inline constexpr std::size_t kRepeatableMax = 512;
/// A request is not repeated earlier than this after it was sent: below it, timers and scheduling
/// delay more than the network.
inline constexpr std::chrono::milliseconds kRepeatAfterMin{1};
/// Requests per repetition on average, at least, and repetitions that may follow each other at
/// once.
inline constexpr std::uint32_t kRequestsPerRepeat = 5;
inline constexpr std::uint32_t kRepeatBurst = 64;
/// Unanswered requests of a session beyond which it repeats no more of them.
inline constexpr std::size_t kRepeaterRequestsMax = 65'536;
/// Most round trips after which agents can be told to repeat a request.
inline constexpr double kRepeatAfterMax = 100;
/// Repeated requests whose second reply is waited for; beyond it, the oldest are forgotten.
inline constexpr std::size_t kRepeatsWatchedMax = 4096;

}  // namespace simco
