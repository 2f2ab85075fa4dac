// Bounds of the `sip` workload and of simco-sip. Those of RFC 3261 name their section; the others
// are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::loadgen {

/// Where SIP servers listen (RFC 3261 18.1.1).
inline constexpr std::uint16_t kSipPort = 5060;

}  // namespace simco::loadgen

namespace simco::loadgen::sip {

/// The longest message, octets: the maximum of channels.
inline constexpr std::size_t kMessageMax = 64 * 1024;
/// The longest start line with header, up to and with the empty line, octets.
inline constexpr std::size_t kHeaderMax = 8 * 1024;
/// The longest response, octets: it is all header, and a datagram carries it.
inline constexpr std::size_t kResponseMax = kHeaderMax;
/// Header fields of a message.
inline constexpr std::size_t kFieldsMax = 64;
/// Octets of a message in pieces that are looked at together for the end of its header.
inline constexpr std::size_t kLookahead = 1024;
/// The longest request over UDP if nothing is known of the path's MTU, octets (RFC 3261 18.1.1).
inline constexpr std::size_t kUdpRequestMax = 1300;
/// The longest datagram over IPv4, octets.
inline constexpr std::size_t kDatagramPayloadMax = 65'507;

/// Estimate of the round-trip time from which all timers come (RFC 3261 17.1.1.1).
inline constexpr std::chrono::milliseconds kT1{500};
/// Timer B in T1s (17.1.1.2); Timer A then sends an INVITE seven times.
inline constexpr int kTimerBInT1 = 64;
/// Longest time that a message stays in the network (17.1.2.2, T4): a server knows an INVITE so
/// much longer than its client sends it again.
inline constexpr std::chrono::seconds kT4{5};

/// INVITEs of a client whose transactions are open; more wait with the generator.
inline constexpr std::size_t kClientTransactionsMax = 65'536;
/// INVITEs that a server knows again; to more it answers 503.
inline constexpr std::size_t kServerTransactionsMax = 262'144;
/// Those of one host (over IPv6, of a network of 64 bits): over 3,500 a second, as each is known
/// for 37 s.
inline constexpr std::size_t kSourceTransactionsMax = kServerTransactionsMax / 2;
/// Octets of the responses that a server keeps for them, and of those for one host.
inline constexpr std::size_t kKeptResponsesMax = 128 * 1024 * 1024;
inline constexpr std::size_t kSourceResponsesMax = kKeptResponsesMax / 2;
/// Octets of a transaction's identity, if a peer chooses it.
inline constexpr std::size_t kTransactionIdMax = 512;
/// Connections and associations of a server; peers over UDP are bounded by their socket.
inline constexpr std::size_t kServerConnectionsMax = 4096;
/// Calls whose arrival a server notes for its samples.
inline constexpr std::size_t kArrivalsMax = 16 * 1024 * 1024;

/// Longest time for messages under way after the last INVITE, seconds.
inline constexpr double kDrainMax_s = 86'400;
/// Greatest --large-every, INVITEs.
inline constexpr std::uint64_t kLargeEveryMax = 1'000'000'000;
/// Range of --t1, milliseconds.
inline constexpr std::uint64_t kT1Min_ms = 1;
inline constexpr std::uint64_t kT1Max_ms = 60'000;

}  // namespace simco::loadgen::sip
