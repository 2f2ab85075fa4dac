// Bounds of the agent library. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco::agent {

/// How long open() may take, and how long a transaction waits for its reply, unless told otherwise.
inline constexpr std::chrono::seconds kTimeoutDefault{60};
/// Transactions that may wait for their replies.
inline constexpr std::size_t kPendingMax = 1'048'576;
/// Rule events kept for next_event(); beyond, the oldest are dropped and counted.
inline constexpr std::size_t kEventsMax = 65'536;

}  // namespace simco::agent
