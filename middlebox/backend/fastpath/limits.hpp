// Bounds of the fast path. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::backend::fastpath {

/// Ports of a rule, at most, that has entries here: a call needs 2 or 4; rules with more are rare,
/// and left to nftables.
inline constexpr std::uint32_t kPortsMax = 16;
/// Slots for each entry that --fast-path-entries asks for, in halves: searches stay short.
inline constexpr std::uint32_t kSlotHalvesPerEntry = 5;
/// --fast-path-entries: the default, and the most. An entry takes 160 octets of the kernel's
/// memory for IPv4 and 320 for IPv6.
inline constexpr std::uint32_t kEntriesDefault = 65'536;
inline constexpr std::uint32_t kEntriesMax = 4'194'304;
/// How often we look whether the links are still there, and whether the fast path may be used.
inline constexpr std::chrono::milliseconds kWatchInterval{200};

/// The pause before a link that was refused is tried again: first, and at most. Linking may
/// interrupt a network card for a moment.
inline constexpr std::chrono::seconds kRetryFirst{1};
inline constexpr std::chrono::seconds kRetryMax{60};
/// The kernel's clock of ticks lags by so much at most (100 ticks a second).
inline constexpr std::chrono::milliseconds kClockTickMax{10};
/// Octets of a datagram from the kernel, at most.
inline constexpr std::size_t kNetlinkOctets = 32 << 10;

}  // namespace simco::backend::fastpath
