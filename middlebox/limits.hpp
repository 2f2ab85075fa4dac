// Bounds of the server. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::middlebox {

/// Changes that go to the backend in one batch.
inline constexpr std::size_t kBatchMax = 1024;
/// Elements (policy::Rule::elements) that the changes of a batch come to, about: a few milliseconds
/// of the kernel's time. With more than that waiting, each agent has its share of a batch, and the
/// loop does other things between two batches.
inline constexpr std::uint64_t kBatchWeight = 2048;
/// Changes that wait for the backend before more rules are ended whose time is over.
inline constexpr std::size_t kBacklogMax = 4096;
/// Requests of one session that may be undecided; no more of its input is looked at until some are.
inline constexpr std::size_t kInFlightMax = 4096;
/// Open sessions in all, unless configured otherwise.
inline constexpr std::uint32_t kSessionsMaxDefault = 10'000;
/// Connections in all, with or without a session; further ones are closed at once.
inline constexpr std::size_t kConnectionsMax = 65'536;
/// Connections without an open session; with more, the source with the most of them loses its
/// oldest.
inline constexpr std::size_t kGuestsMax = 16'384;
/// The same of SCTP associations, which cost more (see kUserlandSctpGuestBuffer).
inline constexpr std::size_t kAssociationGuestsMax = 1024;
/// Pause after a wrong authentication token, before it is refused and before the next ones for that
/// name from that source are judged.
inline constexpr std::chrono::seconds kAuthenticationPenalty{1};
/// Names at sources whose wrong tokens are remembered, and whose right ones are.
inline constexpr std::size_t kAuthPausesMax = 65'536;
inline constexpr std::size_t kAuthTrustedMax = 65'536;
/// Lines of the log that wait for standard error, octets; further ones are lost, and counted.
inline constexpr std::size_t kLogQueueOctets = 256 * 1024;
/// Longest time that the end of the program waits for them.
inline constexpr std::chrono::seconds kLogPatience{1};
/// What a connection may do in a turn of the loop before others have theirs, and how many messages
/// pass between two looks at the clock.
inline constexpr std::chrono::milliseconds kTurnMax{1};
inline constexpr std::uint32_t kMessagesPerLook = 8;
/// Output of all connections together that waits for peers to read. When there is more, connections
/// with more than their share are ended.
inline constexpr std::size_t kOutputTotalMax = 256 * 1024 * 1024;
inline constexpr std::size_t kOutputShare = 64 * 1024;
/// Warnings about connections in a second: strangers can cause them.
inline constexpr std::uint32_t kPeerLinesPerSecond = 10;
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
