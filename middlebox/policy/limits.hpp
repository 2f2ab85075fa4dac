// Bounds of the policy engine. All of them are ours; the RFC's stand in simco/wire/limits.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::policy {

/// Policy rules in all, unless configured otherwise.
inline constexpr std::uint32_t kRulesMaxDefault = 1'048'576;
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
