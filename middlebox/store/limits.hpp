// Bounds of stores.
#pragma once

#include <chrono>
#include <cstdint>

namespace simco::store {

/// Maximum time to wait for Redis: for a connection, or for a reply.
inline constexpr std::chrono::seconds kRedisPatience{2};
/// Maximum time to wait for the replicas of Redis.
inline constexpr std::chrono::seconds kReplicaPatience{1};

/// Longest time that following a store waits for a change, and so until it notices that the store
/// can be claimed.
inline constexpr std::chrono::milliseconds kFollowPatience{50};
/// How long packets pass on a box that stands by after it last asked the owner's Redis: so long the
/// owner waits for a box that does not answer.
inline constexpr std::chrono::milliseconds kLease{1000};
/// A lease is renewed after this time.
inline constexpr std::chrono::milliseconds kLeaseRenewal{250};
/// By so much later than a box the owner believes that its lease is over: clocks of the kernel are
/// coarse.
inline constexpr std::chrono::milliseconds kLeaseMargin{50};
/// Maximum time to wait for the owner's Redis, as the place of a dead owner must be taken
/// meanwhile.
inline constexpr std::chrono::milliseconds kLeasePatience{100};
/// A box without a lease joins if it is not further behind: the owner then waits for it.
inline constexpr std::uint64_t kBatchesBehind = 16;
/// Batches, at least, that a follower may miss before it must read all rules again.
inline constexpr int kBatchesKept = 1000;

}  // namespace simco::store
