// Bounds of the server. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::middlebox {

/// Changes that go to the backend in one batch.
inline constexpr std::size_t kBatchMax = 1024;
/// Requests of one session that may be undecided; no more of its input is looked at until some are.
inline constexpr std::size_t kInFlightMax = 4096;
/// Open sessions in all, unless configured otherwise.
inline constexpr std::uint32_t kSessionsMaxDefault = 10'000;
/// Connections in all, with or without a session; further ones are closed at once.
inline constexpr std::size_t kConnectionsMax = 65'536;
/// Pause after a wrong authentication token, before it is refused and before the next one from that
/// address is judged.
inline constexpr std::chrono::seconds kAuthenticationPenalty{1};
/// Tokens that would wait longer than this to be judged are refused without a look.
inline constexpr std::chrono::seconds kAuthenticationWaitMax{30};
/// Addresses whose wrong tokens are remembered.
inline constexpr std::size_t kThrottledMax = 65'536;
/// A store that has failed is asked again after this time.
inline constexpr std::chrono::seconds kStoreRetry{1};
/// Octets of a table's name.
inline constexpr std::size_t kTableNameMax = 64;
/// Audit lines in a second, unless configured otherwise: a third of what journald takes from a
/// service.
inline constexpr std::uint32_t kAuditRateDefault = 100;
/// Longest time that an orderly stop waits for the last replies to leave.
inline constexpr std::chrono::seconds kStopTimeout{3};
/// How often sessions are asked whether they have become too old for the PIDs (policy::IdSequence).
inline constexpr std::chrono::seconds kSessionAgeCheck{10};

}  // namespace simco::middlebox
