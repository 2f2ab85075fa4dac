// Bounds of QUIC. All of them are ours, unless they say otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::net::quic {

/// Streams of a connection in each direction: each has some hundred octets in the library's tables.
inline constexpr std::uint16_t kStreamsMax = 1024;
/// UDP payload of the packets sent, octets: any path carries it (RFC 9000 14), so the path needs no
/// probing.
inline constexpr std::size_t kPacketSize = 1200;
/// A packet that is longer may have left something behind that did not fit.
inline constexpr std::size_t kFullPacket = kPacketSize - 100;
/// Connection identifiers of ours, octets: random, so that those of other connections cannot be
/// guessed.
inline constexpr std::size_t kIdSize = 12;
/// Connection identifiers that a peer may tell us for one connection: the least that RFC 9000 18.2
/// has, as only the first is used.
inline constexpr std::uint64_t kIdsMax = 2;
/// Octets of a handshake in each of its parts, which are kept until a message of TLS is complete:
/// several chains of certificates.
inline constexpr std::uint64_t kCryptoMax = 64 * 1024;
/// Octets of a private key (DER): RSA with 16,384 bits has 9,300.
inline constexpr std::size_t kPrivateKeyMax = 16 * 1024;
/// Octets of a connection that a peer may send before they are taken: until its user wants long
/// messages, as no session needs more to begin, and from then on.
inline constexpr std::uint64_t kGuestWindow = 16 * 1024;
inline constexpr std::uint64_t kWindow = 256 * 1024;
/// Memory that ngtcp2 may take for a connection, octets: in both cases, and for each stream. Peers
/// choose the parts that they leave out and acknowledge, and each hole has a record.
inline constexpr std::size_t kGuestMemoryMax = 256 * 1024;
inline constexpr std::size_t kMemoryMax = 2 * 1024 * 1024;
inline constexpr std::size_t kStreamMemoryMax = 16 * 1024;
/// Octets of a connection that are in packets and not acknowledged, beyond which they count as
/// output that waits: as much as a kernel keeps for a TCP connection.
inline constexpr std::size_t kUnacknowledgedMax = 4 * 1024 * 1024;
/// Room for output is made in pieces of this size, octets.
inline constexpr std::size_t kOutputBlock = 2048;
/// Buffers of a stream's input that grew beyond this are given back, octets.
inline constexpr std::size_t kKeptInput = 256;
/// Packets of a connection at a time; more leave in the next turn, as its pacing allows.
inline constexpr std::size_t kBurstMax = 64;
/// Packets that leave together without pacing: an initial window (RFC 9002 7.2, 7.7).
inline constexpr std::size_t kUnpaced = 10;
/// Handshakes of a listener at a time: each takes the memory of a connection.
inline constexpr std::size_t kQuicHandshakesMax = 1024;
/// When a listener has one of so many parts of them, an address must prove that packets reach it
/// (Retry, RFC 9000 8.1.2).
inline constexpr std::size_t kRetryFromPart = 4;
/// How long it may take to come back with the token of a Retry.
inline constexpr std::chrono::seconds kRetryTimeout{10};
/// How long an end is said again to a peer that goes on: three of its probe timeouts (RFC
/// 9000 10.2) on any path that calls bear. And to how many at most, the newest.
inline constexpr std::chrono::seconds kClosedTime{3};
inline constexpr std::size_t kClosedMax = 1024;
/// Stateless resets, octets (RFC 9000 10.3): the shortest that peers recognise, and the longest of
/// ours. Each is shorter than the packet that it answers (10.3.3).
inline constexpr std::size_t kResetMin = 21;
inline constexpr std::size_t kResetMax = 42;

// --- Bounds of options ---------------------------------------------------------------------------

/// Longest time of a timer, milliseconds.
inline constexpr std::uint32_t kTimeMaxMs = 3'600'000;
inline constexpr std::uint32_t kInitialRttMaxMs = 10'000;
/// RFC 9000 18.2 has 2^14 as the bound; a peer's probes wait for it.
inline constexpr std::uint32_t kAckDelayMaxMs = 1000;

}  // namespace simco::net::quic
