// Bounds of SCTP. All of them are ours, unless they say otherwise.
#pragma once

#include <chrono>
#include <cstdint>

namespace simco::net {

/// Streams of an association; a stream identifier has 16 bits, and 65,535 is their largest number.
inline constexpr std::uint16_t kSctpStreamsMax = 65'535;
/// INIT and COOKIE ECHO chunks sent before an association is given up.
inline constexpr std::uint16_t kSctpInitAttempts = 8;
/// Longest time between two of them.
inline constexpr std::chrono::milliseconds kSctpInitTimeout{1000};
/// Messages further apart than this make a thin flow, whose SACKs are asked for at once.
inline constexpr std::chrono::milliseconds kSctpThinFlowGap{2};
/// How old the figures of an association may be that ends without a shutdown.
inline constexpr std::chrono::seconds kSctpStatisticsAge{1};
/// Buffers of an association, octets. The kernel counts about 700 of its own with each message.
inline constexpr std::uint32_t kKernelSctpBuffer = 4 * 1024 * 1024;
inline constexpr std::uint32_t kUserlandSctpSendBuffer = 256 * 1024;
inline constexpr std::uint32_t kUserlandSctpReceiveBuffer = 1024 * 1024;
/// The size until the user of the association wants long messages: usrsctp keeps data behind a gap
/// up to this, and no session needs more to begin.
inline constexpr std::uint32_t kUserlandSctpGuestBuffer = 16 * 1024;
/// Longest SCTP packet that the userland stack sends, octets: with IP and UDP headers it passes
/// Ethernet, and most tunnels through it.
inline constexpr std::uint32_t kUserlandMtu = 1400;
/// How often the userland stack looks at its timers: while there is traffic, and otherwise.
inline constexpr std::chrono::milliseconds kUserlandTick{5};
inline constexpr std::chrono::milliseconds kUserlandIdleTick{50};
/// How long after the last packet that is.
inline constexpr std::chrono::seconds kUserlandIdleAfter{1};
/// Peers of the userland stack that may have the same SCTP ports at both ends; new peers are spread
/// among the first of these numbers.
inline constexpr std::uint16_t kUserlandNumbersMax = 1024;
inline constexpr std::uint16_t kUserlandNumbersFirst = 4;
/// Chunks that an association of the userland stack may have queued.
inline constexpr std::uint32_t kUserlandChunksMax = 16'384;
/// Size of the userland stack's tables of endpoints and associations.
inline constexpr std::uint32_t kUserlandTableSize = 8192;

// --- Bounds of options ---------------------------------------------------------------------------

/// Longest time of a timer, milliseconds.
inline constexpr std::uint32_t kSctpTimeMaxMs = 3'600'000;
inline constexpr std::uint32_t kSctpSackDelayMaxMs = 500;  ///< RFC 9260 6.2
/// Buffers, octets: the largest message fits, and so does the kernel's own default (106,496, which
/// it doubles).
inline constexpr std::uint32_t kSctpBufferMin = 96 * 1024;
inline constexpr std::uint32_t kSctpBufferMax = 1024 * 1024 * 1024;

}  // namespace simco::net
