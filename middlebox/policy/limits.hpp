// Bounds of the policy engine. All of them are ours; the RFC's stand in simco/wire/limits.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::policy {

/// Policy rules in all, unless configured otherwise.
inline constexpr std::uint32_t kRulesMaxDefault = 1'048'576;
/// What all rules take in the kernel, counted as elements_of() does, unless configured otherwise:
/// an element takes some 300 octets of the machine.
inline constexpr std::uint32_t kElementsMaxDefault = 8 * kRulesMaxDefault;
/// Ports of a rule that count one by one; a larger range counts as one element.
inline constexpr std::uint32_t kPortsCountedMax = 1024;
/// An element of a rule that is_common() is not true of counts as so many where work is shared out:
/// the kernel may have to keep it as an interval, in order with all others (some 0.1 to 0.3 ms for
/// a removal, instead of 1.3 us).
inline constexpr std::uint32_t kUncommonWeight = 64;
/// Addresses in a NAT pool. Each that is in use takes 24 KiB per transport protocol.
inline constexpr std::uint32_t kPoolAddressesMax = 4096;
/// Longest lifetime granted, unless configured otherwise, seconds.
inline constexpr std::uint32_t kLifetimeMaxDefault = 3600;
/// Rules end at most this much after their lifetime, and never before it.
inline constexpr std::chrono::milliseconds kExpiryTick{100};
/// Rules that are ended in one go when their time has come; more wait for the next turn of the
/// loop.
inline constexpr std::size_t kExpiryBatchMax = 1024;
/// A backend that fails to remove an expired rule is asked again after this time.
inline constexpr std::chrono::seconds kExpiryRetry{1};

}  // namespace simco::policy
