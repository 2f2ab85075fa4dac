// Bounds of the load generator. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::loadgen {

/// Maximum number of parallel connections.
inline constexpr std::uint32_t kConnectionsMax = 4096;
/// Maximum offered rate, transactions per second.
inline constexpr double kRateMax = 10'000'000;
/// A time that an option or a line of --arrivals-file gives, seconds: 30 years.
inline constexpr double kSecondsMax = 1e9;
/// Lines of --arrivals-file.
inline constexpr std::size_t kDueTimesMax = 16 * 1024 * 1024;
/// Interval at which timeouts and the abort lag are checked and the progress line is updated.
inline constexpr std::chrono::milliseconds kWatchInterval{100};
/// Time between the opening of the last session and the first scheduled transaction.
inline constexpr std::chrono::milliseconds kStartDelay{20};
/// Usual lateness of the generator on an idle machine (99th percentile), caused by timers and the
/// scheduler.
inline constexpr double kLagUsual_ms = 1;
/// Batches of which the batch means keep a mean each; twice as many are joined in pairs.
inline constexpr std::size_t kBatchesMax = 64;
/// Pause before a lost connection is opened again, doubled after each attempt that fails; half of
/// it is random. As agents do.
inline constexpr std::chrono::milliseconds kReopenPauseFirst{100};
inline constexpr std::chrono::seconds kReopenPauseMax{30};
/// Size of an echo message, octets.
inline constexpr std::size_t kEchoSize = 64;
/// Of simco-middlebox, for whom a replay answers: how many rules there may be, the longest lifetime
/// (seconds), and how exactly rules end.
inline constexpr std::uint64_t kReplayedRulesMax = 1'048'576;
inline constexpr std::uint32_t kReplayedLifetimeMaxS = 3600;
inline constexpr std::chrono::milliseconds kReplayedExpiryTick{100};
/// Maximum length of the line that ends `--hold`, octets.
inline constexpr std::size_t kStartLineMax = 1024;

}  // namespace simco::loadgen
