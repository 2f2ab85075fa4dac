// Bounds of the server. All of them are ours unless a document is named.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::ng {

/// Port of the ng protocol in the configurations of proxies.
inline constexpr std::uint16_t kNgPortDefault = 2223;
/// Octets of a datagram that is received: UDP carries no more.
inline constexpr std::size_t kDatagramMax = 65'535;
/// Octets of datagrams that have been read and wait for their turn; more are lost, as in any
/// network.
inline constexpr std::size_t kBacklogMax = 64 * 1024 * 1024;
/// Datagrams that are taken in one turn of the loop.
inline constexpr std::size_t kDatagramsPerTurn = 16;
/// Octets of a reply: those that IPv4 leaves of that.
inline constexpr std::size_t kReplyMax = 65'507;

/// Octets of an answer of the middlebox about its counters.
inline constexpr std::size_t kCountersOctetsMax = 4 * 1024 * 1024;

/// Longest pause between attempts to open a session: calls wait for it.
inline constexpr std::chrono::seconds kReconnectPauseMax{1};

}  // namespace simco::ng
