// Bounds of the server. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::middlebox {

/// Maximum number of changes in one batch.
inline constexpr std::size_t kBatchMax = 1024;
/// Approximate maximum of elements (policy::Rule::elements) of the changes in one batch, and of
/// their notifications (see kDeliveriesPerWeight): a few milliseconds. If more is waiting, each
/// agent gets its share of a batch, and the loop handles other events between two batches.
inline constexpr std::uint64_t kBatchWeight = 2048;
/// Notifications that take as long as the kernel takes for an element.
inline constexpr std::uint32_t kDeliveriesPerWeight = 4;
/// Rules that disable rules may look at, about a millisecond's work, before other events of the
/// loop are handled; and how many a single disable rule looks at before the next has its turn.
inline constexpr std::uint32_t kDisableLooksMax = 8192;
inline constexpr std::uint32_t kDisableLooksStep = 1024;
/// Enable rules that the disable rules of one session may be ending before they look for more. The
/// events of that many, and of policy::kDisableScanMax more, fit into its output queue above the
/// high water.
inline constexpr std::uint32_t kDisableEndsMax = 8192;
/// Maximum backlog of changes above which no further expired rules are ended.
inline constexpr std::size_t kBacklogMax = 4096;
/// Maximum number of undecided requests of one session; beyond it, its input waits.
inline constexpr std::size_t kInFlightMax = 4096;
/// Default maximum number of open sessions.
inline constexpr std::uint32_t kSessionsMaxDefault = 10'000;
/// Maximum number of connections, with or without a session; further ones are closed at once.
inline constexpr std::size_t kConnectionsMax = 65'536;
/// Maximum number of connections without an open session; beyond it, the source with the most of
/// them loses its oldest.
inline constexpr std::size_t kGuestsMax = 16'384;
/// The same for SCTP associations, which take more memory (see kUserlandSctpGuestBuffer).
inline constexpr std::size_t kAssociationGuestsMax = 1024;
/// Back-off after a wrong authentication token: before it is refused, and before further tokens for
/// that name from that source are verified.
inline constexpr std::chrono::seconds kAuthenticationPenalty{1};
/// Names at sources whose wrong tokens are remembered, and whose right tokens are.
inline constexpr std::size_t kAuthPausesMax = 65'536;
inline constexpr std::size_t kAuthTrustedMax = 65'536;
/// The time of a connection in a turn of the loop before others have theirs, and the number of
/// messages between two looks at the clock.
inline constexpr std::chrono::milliseconds kTurnMax{1};
inline constexpr std::uint32_t kMessagesPerLook = 8;
/// Output of all connections together that waits for peers to read. When there is more, connections
/// with more than their share are ended.
inline constexpr std::size_t kOutputTotalMax = 256 * 1024 * 1024;
inline constexpr std::size_t kOutputShare = 64 * 1024;
/// Warnings about connections in a second: strangers can cause them.
inline constexpr std::uint32_t kPeerLinesPerSecond = 10;
/// Lines about refused requests in a second: agents can cause them, and they repeat themselves.
inline constexpr std::uint32_t kRefusalLinesPerSecond = 10;
/// A store that has failed is asked again after this time.
inline constexpr std::chrono::seconds kStoreRetry{1};
/// The same while it is only followed: it must not be late to be taken over.
inline constexpr std::chrono::milliseconds kFollowRetry{100};
/// Identifiers that a middlebox skips when it takes another one's place, which may have given out
/// some that the store has not told of: some seconds' worth.
inline constexpr std::uint64_t kIdsSkipped = 1 << 20;
/// A rule of another middlebox that the backend has refused is tried again after this time.
inline constexpr std::chrono::seconds kFollowRefusedRetry{1};
/// How often an idle middlebox sees whether the store is still its own, and answers the boxes that
/// stand by.
inline constexpr std::chrono::milliseconds kStoreVerifyPause{100};
/// An address to listen on that is not here yet is tried again after this time.
inline constexpr std::chrono::milliseconds kListenRetry{100};
/// Octets of a table's name.
inline constexpr std::size_t kTableNameMax = 64;
/// Audit lines in a second, unless configured otherwise: a third of journald's limit for a service.
inline constexpr std::uint32_t kAuditRateDefault = 100;
/// Longest time that an orderly stop waits for the last replies to leave.
inline constexpr std::chrono::seconds kStopTimeout{3};
/// Rules that a request to --inspect may name.
inline constexpr std::size_t kInspectedRulesMax = 256;
/// Signs of life in each interval of the service manager's watchdog.
inline constexpr int kBeatsPerInterval = 4;
/// The lowest identifier that a middlebox without stored rules may begin with: a number of seven
/// digits or more is not mistaken for a port or a count.
inline constexpr std::uint32_t kFirstIdMin = 1'000'000;
/// How often sessions are asked whether they have become too old for the PIDs (policy::IdSequence).
inline constexpr std::chrono::seconds kSessionAgeCheck{10};

}  // namespace simco::middlebox
