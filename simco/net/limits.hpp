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
/// The time that a closing connection has to deliver its queue and to see the peer close, before it
/// is reset.
inline constexpr std::chrono::seconds kCloseTimeout{2};
/// Pause between two probes of an idle connection (TransportOptions::silence_max).
inline constexpr std::chrono::seconds kIdleProbe{1};
/// How long an address of the peer is tried alone before the next one is tried, too (Connection
/// Attempt Delay, RFC 8305 section 5).
inline constexpr std::chrono::milliseconds kNextAddress{250};
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

/// Datagrams taken from a socket at once, and the room for each.
inline constexpr std::size_t kDatagramBatch = 32;
inline constexpr std::size_t kDatagramMax = 65'535;
/// Batches taken per turn of the loop.
inline constexpr int kDatagramBatches = 4;
/// Packets that wait for a UDP socket that takes nothing, octets; more are lost, as in any network.
inline constexpr std::size_t kDatagramQueueMax = 4 * 1024 * 1024;
/// Buffers wanted for the UDP socket, octets.
inline constexpr int kDatagramSocketBuffer = 4 * 1024 * 1024;

/// Peers of a listening UDP socket at a time, each with a channel; with more, the source with the
/// most loses its oldest. A datagram costs its sender nothing, so this bounds the memory of a
/// flood.
inline constexpr std::size_t kUdpPeersMax = 4096;

}  // namespace simco::net
