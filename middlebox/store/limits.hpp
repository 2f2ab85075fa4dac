// Bounds of stores.
#pragma once

#include <chrono>

namespace simco::store {

/// Maximum time to wait for Redis: for a connection, or for a reply.
inline constexpr std::chrono::seconds kRedisPatience{2};
/// Maximum time to wait for the replicas of Redis.
inline constexpr std::chrono::seconds kReplicaPatience{1};

/// Longest time that following a store waits for a change, and so until it notices that the store
/// can be claimed.
inline constexpr std::chrono::milliseconds kFollowPatience{50};
/// Batches, at least, that a follower may miss before it must read all rules again.
inline constexpr int kBatchesKept = 1000;

}  // namespace simco::store
