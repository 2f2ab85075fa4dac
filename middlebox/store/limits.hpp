// Bounds of stores.
#pragma once

#include <chrono>

namespace simco::store {

/// Maximum time to wait for Redis: for a connection, or for a reply.
inline constexpr std::chrono::seconds kRedisPatience{2};
/// Maximum time to wait for the replicas of Redis.
inline constexpr std::chrono::seconds kReplicaPatience{1};

}  // namespace simco::store
