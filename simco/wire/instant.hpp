// Time as the I/O-free parts see it: handed in by the caller, never read from a clock.
#pragma once

#include <chrono>

namespace simco {

/// A moment on the caller's monotonic clock. Tests make up their own.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

}  // namespace simco
