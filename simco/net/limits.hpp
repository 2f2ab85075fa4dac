// Bounds of the transport layer. All of them are ours, none is the RFC's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::net {

/// Octets taken from a socket per turn of the event loop: large enough for a thousand requests in
/// one read, small enough that no connection holds the others up for more than about a millisecond.
inline constexpr std::size_t kReadSize = 64 * 1024;
/// Messages taken from an association per turn of the loop.
inline constexpr std::size_t kReadMessages = 256;
/// The longest message that a framer may know, octets.
inline constexpr std::size_t kUserMessageMax = 64 * 1024;
/// Buffers of broken-off messages that grew beyond this are given back, octets.
inline constexpr std::size_t kKeepHeld = 4096;
/// Output buffers that grew beyond this are given back when they are empty, octets.
inline constexpr std::size_t kKeepOutput = 64 * 1024;
/// Queued output above which no further input of the connection is looked at, octets.
inline constexpr std::size_t kOutputHighWater = 256 * 1024;
/// Queued output at which a connection is given up, octets. Only notifications can get there.
inline constexpr std::size_t kOutputQueueMax = 1024 * 1024;
/// How long a connection that is being closed may take to deliver what is queued, and to hear the
/// peer close, before it is reset.
inline constexpr std::chrono::seconds kCloseTimeout{2};
/// Pause after accept() failed, for want of descriptors for example.
inline constexpr std::chrono::milliseconds kAcceptPause{100};
/// Longest time from a connection to the end of its TLS handshake, or to its first octet.
inline constexpr std::chrono::seconds kHandshakeTimeout{10};
/// TLS handshakes of a listener at a time; with more, the source with the most loses its oldest.
inline constexpr std::size_t kHandshakesMax = 4096;
/// Connections that the kernel may hold until they are accepted.
inline constexpr int kListenBacklog = 4096;
/// Associations accepted per turn of the loop.
inline constexpr int kAcceptBurst = 64;

// --- SCTP ----------------------------------------------------------------------------------------

/// Streams of an association; a stream identifier has 16 bits, and 65,535 is their largest number.
inline constexpr std::uint16_t kSctpStreamsMax = 65'535;
/// INIT and COOKIE ECHO chunks sent before an association is given up.
inline constexpr std::uint16_t kSctpInitAttempts = 8;
/// Longest time between two of them.
inline constexpr std::chrono::milliseconds kSctpInitTimeout{1000};
/// Messages further apart than this make a thin flow, whose SACKs are asked for at once.
inline constexpr std::chrono::milliseconds kSctpThinFlowGap{2};
/// Buffers of an association, octets. The kernel counts about 700 of its own with each message.
inline constexpr std::uint32_t kKernelSctpBuffer = 4 * 1024 * 1024;
inline constexpr std::uint32_t kUserlandSctpSendBuffer = 256 * 1024;
inline constexpr std::uint32_t kUserlandSctpReceiveBuffer = 1024 * 1024;
/// What it is until the user of the association wants long messages: usrsctp keeps data behind a
/// gap up to this, and no session needs more to begin.
inline constexpr std::uint32_t kUserlandSctpGuestBuffer = 16 * 1024;
/// Longest SCTP packet that the userland stack sends, octets: with IP and UDP headers it passes
/// Ethernet, and most tunnels through it.
inline constexpr std::uint32_t kUserlandMtu = 1400;
/// Datagrams taken from a socket at once, and the room for each.
inline constexpr std::size_t kDatagramBatch = 32;
inline constexpr std::size_t kDatagramMax = 65'535;
/// Batches taken per turn of the loop.
inline constexpr int kDatagramBatches = 4;
/// Packets that wait for a UDP socket that takes nothing, octets; more are lost, as in any network.
inline constexpr std::size_t kDatagramQueueMax = 4 * 1024 * 1024;
/// Buffers wanted for the UDP socket, octets.
inline constexpr int kDatagramSocketBuffer = 4 * 1024 * 1024;
/// How often the userland stack looks at its timers: while there is traffic, and otherwise.
inline constexpr std::chrono::milliseconds kUserlandTick{5};
inline constexpr std::chrono::milliseconds kUserlandIdleTick{50};
/// How long after the last packet that is.
inline constexpr std::chrono::seconds kUserlandIdleAfter{1};
/// Peers of the userland stack that may have the same SCTP ports at both ends; among the first of
/// these numbers new ones are spread.
inline constexpr std::uint16_t kUserlandNumbersMax = 1024;
inline constexpr std::uint16_t kUserlandNumbersFirst = 4;
/// Chunks that an association of the userland stack may have queued.
inline constexpr std::uint32_t kUserlandChunksMax = 16'384;
/// Size of the userland stack's tables of endpoints and associations.
inline constexpr std::uint32_t kUserlandTableSize = 8192;

}  // namespace simco::net
