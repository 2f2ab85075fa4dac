// Bounds of the load generator. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::loadgen {

/// Parallel connections.
inline constexpr std::uint32_t kConnectionsMax = 4096;
/// Offered rate, transactions per second.
inline constexpr double kRateMax = 10'000'000;
/// How often timeouts and the abort lag are looked at and the progress line is renewed.
inline constexpr std::chrono::milliseconds kWatchInterval{100};
/// Time between the last session's opening and the first scheduled transaction.
inline constexpr std::chrono::milliseconds kStartDelay{20};
/// Lateness of the generator, as 99th percentile, that a machine with nothing else to do has:
/// timers and the scheduler.
inline constexpr double kLagUsual_ms = 1;
/// Size of an echo message, octets.
inline constexpr std::size_t kEchoSize = 64;
/// Longest line that ends `--hold`, octets.
inline constexpr std::size_t kStartLineMax = 1024;

}  // namespace simco::loadgen
