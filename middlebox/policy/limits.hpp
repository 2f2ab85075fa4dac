// Bounds of the policy engine. All of them are ours; those of the RFC are in simco/wire/limits.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::policy {

/// Default maximum number of policy rules.
inline constexpr std::uint32_t kRulesMaxDefault = 1'048'576;
/// Default maximum number of open sessions of an agent: each of them hears of each change.
inline constexpr std::uint32_t kAgentSessionsMaxDefault = 256;
/// Default maximum of kernel elements of all rules, counted as by elements_of(). An element takes
/// about 300 bytes of memory.
inline constexpr std::uint32_t kElementsMaxDefault = 8 * kRulesMaxDefault;
/// Maximum number of ports that count as an element each; a larger range counts as a single
/// element.
inline constexpr std::uint32_t kPortsCountedMax = 1024;
/// Weight of an element of a rule for which is_common() is false when work is divided among agents:
/// the kernel may have to keep it as an interval, sorted with all others (0.1 to 0.3 ms for a
/// removal instead of 1.3 us).
inline constexpr std::uint32_t kUncommonWeight = 64;
/// Maximum number of addresses in a NAT pool. Each in use takes 24 KiB per transport protocol.
inline constexpr std::uint32_t kPoolAddressesMax = 4096;
/// Default maximum lifetime, seconds.
inline constexpr std::uint32_t kLifetimeMaxDefault = 3600;
/// Rules end at most this much after their lifetime, and never before it.
inline constexpr std::chrono::milliseconds kExpiryTick{100};
/// Maximum number of expired rules that are ended at once; more wait for the next turn of the loop.
inline constexpr std::size_t kExpiryBatchMax = 1024;
/// Entries of the index that a disable rule may scan for rules that it overlaps. Beyond that, it
/// looks at all rules in turn: this can be interrupted at any rule, while the index changes with
/// each rule that ends.
inline constexpr std::uint32_t kDisableScanMax = 4096;
/// Time after which the removal of an expired rule is retried if the backend failed.
inline constexpr std::chrono::seconds kExpiryRetry{1};

/// Maximum number of prefixes or port ranges that the reason of a refusal lists.
inline constexpr std::size_t kReasonItemsMax = 4;

}  // namespace simco::policy
