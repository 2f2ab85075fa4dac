// Time as the I/O-free parts see it: handed in by the caller, never read from a clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace simco {

/// A moment on the caller's monotonic clock. Tests make up their own.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

/// Returns the earlier of two deadlines, either of which may be missing.
inline std::optional<Instant> earlier(const std::optional<Instant>& a,
                                      const std::optional<Instant>& b) {
  return a && b ? std::min(a, b) : (a ? a : b);
}

}  // namespace simco
