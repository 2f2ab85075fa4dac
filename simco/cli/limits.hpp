// Bounds of what users may ask of a transport.
#pragma once

#include <cstdint>

namespace simco::cli {

inline constexpr std::uint32_t kHourMs = 3'600'000;
inline constexpr std::uint32_t kSackDelayMaxMs = 500;  ///< RFC 9260 6.2
/// The largest message fits, and so does the kernel's own default (106,496, which it doubles).
inline constexpr std::uint32_t kBufferMin = 96 * 1024;
inline constexpr std::uint32_t kBufferMax = 1024 * 1024 * 1024;

}  // namespace simco::cli
