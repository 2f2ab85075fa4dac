// Bounds of simco-cross.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::cross {

/// Parallel connections of bulk traffic.
inline constexpr std::size_t kConnectionsMax = 1000;
/// Connections that a listener serves at a time; further ones are closed.
inline constexpr std::size_t kServedMax = 10'000;
/// Pause after a connection could not be accepted, for want of descriptors for example.
inline constexpr std::chrono::milliseconds kAcceptPause{100};
/// Sessions that web traffic has open at a time; those that would be more do not begin, and are
/// counted.
inline constexpr std::size_t kSessionsMax = 10'000;
/// Octets that a peer may ask for at a time.
inline constexpr std::uint64_t kObjectMax = std::uint64_t{1} << 30;
/// Octets that are read or written at a time.
inline constexpr std::size_t kChunk = 65'536;
/// Sessions or datagrams a second.
inline constexpr double kRateMax = 1e6;
/// A time that an option gives, seconds: 30 years.
inline constexpr double kSecondsMax = 1e9;
/// Octets of a datagram.
inline constexpr std::size_t kDatagramMax = 1472;

}  // namespace simco::cross
