// Bounds of stores.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco::store {

/// Maximum time to wait for Redis: for a connection, or for a reply.
inline constexpr std::chrono::seconds kRedisPatience{2};
/// Maximum time to wait for the replicas of Redis.
inline constexpr std::chrono::milliseconds kReplicaPatience{1000};

/// An owner recognizes the states of so many owners before it, to which Redis may return.
inline constexpr std::size_t kOwnersKept = 64;

/// Longest time that following a store waits for a change, and so until it notices that the store
/// can be claimed.
inline constexpr std::chrono::milliseconds kFollowPatience{50};
/// How long packets pass on a box that stands by after it has asked its owner.
inline constexpr std::chrono::milliseconds kLease{1000};
/// A box that has been answered for so long without a lease makes a pause: the owner waits for it
/// meanwhile.
inline constexpr std::chrono::milliseconds kFirstLeasePatience{2000};
/// A box that stands by asks so often, and its owner answers as often: many times while a lease
/// lasts.
inline constexpr std::chrono::milliseconds kLeaseRenewal{100};
/// The owner waits so much longer than a lease lasts: the kernel's timers are coarse, and while NTP
/// adjusts a clock it may run a tenth faster or slower.
inline constexpr std::chrono::milliseconds kLeaseMargin{250};
/// Maximum time to wait for each reply of the owner's Redis: a dead owner's place must be taken
/// meanwhile.
inline constexpr std::chrono::milliseconds kLeasePatience{100};
/// A box whose lease has ended asks for the next one after a pause, which doubles up to this: the
/// owner must not wait for it all the time.
inline constexpr std::chrono::seconds kRejoinPauseMax{30};
/// A lease that has lasted so long makes the pause short again.
inline constexpr std::chrono::minutes kSteady{1};
/// Batches, at least, that a follower may miss before it must read all rules again.
inline constexpr int kBatchesKept = 1000;

}  // namespace simco::store
