// Bounds of the nftables backend. All of them are ours, unless they say otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::backend::nftables {

/// Sets that are looked up for a packet, of one IP version and purpose, besides those of common
/// masks (is_common()). Each costs a packet that does not hit an earlier set some 30 ns. An agent's
/// rules may bring in another as long as more are free than they have brought in: so the first has
/// half of them at most, the next half of the rest. It takes five agents to use them up.
inline constexpr std::size_t kMasksMax = 16;
/// Elements of an interval set: an addition costs some 0.1 us for each that is there, a removal up
/// to ten times that. Shared among agents as sets are.
inline constexpr std::size_t kIntervalsMax = 256;
inline constexpr std::size_t kGuardsMax = 12;
/// Comments of chains, as nft reads them: of more guards the last are left out.
inline constexpr std::size_t kCommentOctets = 127;
/// A commit is sent when it has grown to this size, octets.
inline constexpr std::size_t kCommitOctets = 1 << 20;
/// The part of an operation, at most: two elements of an interval set, IPv6.
inline constexpr std::size_t kOperationOctets = 400;
/// Changes whose elements are made, and fetched from memory, at a time.
inline constexpr std::uint32_t kPreparedChanges = 16;
/// Names of sets that are remembered: more than there can usually be.
inline constexpr std::size_t kSetNamesMax = 512;
/// The kernel takes a commit in one piece, up to twice this size. The largest commit is that of the
/// whole table: 367 octets for a rule between two IPv4 ports with a NAT, so near three million.
inline constexpr int kSendBuffer = 1 << 29;
inline constexpr int kReceiveBuffer = 8 << 20;
/// Octets of a datagram from the kernel, at most.
inline constexpr std::size_t kDatagramOctets = 256 << 10;
/// Octets of a message that is being made, at most.
inline constexpr std::size_t kMessageRoom = 96 << 10;
/// Memory of a message buffer that has grown beyond this is released, octets.
inline constexpr std::size_t kKeepOctets = 16 << 20;
/// An attribute's length has 16 bits (the kernel's), so a list of elements ends before that.
inline constexpr std::size_t kListOctets = 60'000;
/// How often the kernel is asked whether the table is still there and as we left it: if others
/// can flush it, packets pass without a rule for up to this and the time that restoring it takes.
inline constexpr std::chrono::milliseconds kWatchInterval{50};
/// Octets of the name of a table's lock: the room in an abstract socket's address.
inline constexpr std::size_t kLockNameOctets = 107;
/// Callers at the table's lock that are let go at each of these looks, two microseconds each, and
/// how long a start waits for its place among them.
inline constexpr int kLockCallersPerLook = 1024;
inline constexpr std::chrono::seconds kLockPatience{2};
/// The kernel's timers are late by up to this: two ticks of the slowest clock that it is built
/// with.
inline constexpr std::chrono::milliseconds kKernelTick{20};
/// Lifetime of an element that is added only so that its removal cannot fail.
inline constexpr std::chrono::seconds kPlaceholderLifetime{1};
/// A set that has been empty so long is taken out of the data path.
inline constexpr std::chrono::seconds kSetIdle{30};
/// Flows of ended rules with wildcards are looked for together, at most this often,
inline constexpr std::chrono::milliseconds kSweepInterval{500};
/// and after a pause so many times as long as the last search took.
inline constexpr int kSweepPause = 4;
/// Kinds of ended rules that are told apart in a search (each costs a flow some 50 ns), and the
/// memory for them. Of further kinds only the addresses count, more or less.
inline constexpr std::size_t kEndedPlacesMax = 64;
inline constexpr std::size_t kEndedKeysMax = 65'536;
/// Messages of a long dump (a flow each) that are looked at in a turn of the loop: a flow may have
/// to be compared with all the intervals that are in force.
inline constexpr std::size_t kDumpMessagesPerTurn = 32;
/// Flows of exact rules that are deleted by name in a batch, some microseconds each; those of
/// further rules are looked for with the others.
inline constexpr std::size_t kRemovalsPerBatch = 1024;
/// Deletions of flows are sent when they have grown to this size, octets.
inline constexpr std::size_t kRemovalOctets = 16 << 10;
/// After so many commits that others have made stale, a commit is made on any generation.
inline constexpr int kStaleMax = 4;
/// Attempts to put the table in place while others change the ruleset.
inline constexpr int kAttemptsMax = 20;
/// Pause before the next attempt while the table still belongs to a process that is ending.
inline constexpr std::chrono::milliseconds kOwnerPause{50};
/// The whole table is put in place by a single commit, or by several if its elements take more
/// octets than this (the kernel takes twice kSendBuffer).
inline constexpr std::size_t kInstallOctets = std::size_t{960} << 20;
/// Elements that are gathered for it at a time.
inline constexpr std::size_t kInstallChunk = 65'536;
/// With counters, every element's is read once in this time, if there are not too many: some are
/// read after each pause, but no more than so many, which takes a millisecond.
inline constexpr std::chrono::seconds kReadingRound{5};
inline constexpr std::chrono::milliseconds kReadingPause{50};
inline constexpr std::size_t kReadingsPerPause = 512;
/// Counters that the kernel is asked for at a time: the answers fit into the smallest receive
/// buffer.
inline constexpr std::size_t kReadingsPerRequest = 64;
/// Counters that a question about rules reads at once; for further counters it gets the last
/// reading.
inline constexpr std::size_t kReadingsPerQuestion = 4096;
/// The kernel's report on the counter of an element takes so many octets in the receive buffer.
inline constexpr std::size_t kEchoOctets = 1024;
/// Ports of a rule that are counted one by one.
inline constexpr std::size_t kPortsListedMax = 16;
/// Reading back the kernel's table may take one part in so many of the time, at most.
inline constexpr int kInspectionShare = 2;

}  // namespace simco::backend::nftables
