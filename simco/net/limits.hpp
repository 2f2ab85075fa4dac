// Bounds of the transport layer. All of them are ours, none is the RFC's.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco::net {

/// Octets taken from a socket per turn of the event loop: large enough for a thousand requests in
/// one read, small enough that no connection holds the others up for more than about a millisecond.
inline constexpr std::size_t kReadSize = 64 * 1024;
/// Queued output above which no further input of the connection is looked at, octets.
inline constexpr std::size_t kOutputHighWater = 256 * 1024;
/// Queued output at which a connection is given up, octets. Only notifications can get there.
inline constexpr std::size_t kOutputQueueMax = 1024 * 1024;
/// How long a connection that is being closed may take to deliver what is queued, and to hear the
/// peer close, before it is reset.
inline constexpr std::chrono::seconds kCloseTimeout{2};
/// Pause after accept() failed, for want of descriptors for example.
inline constexpr std::chrono::milliseconds kAcceptPause{100};
/// Connections that the kernel may hold until they are accepted.
inline constexpr int kListenBacklog = 4096;

}  // namespace simco::net
