// The two clocks of the middlebox, as an interface for tests and simulations.
#pragma once

#include <chrono>
#include <cstdint>

#include "simco/wire/instant.hpp"

namespace simco::middlebox {

/// Monotonic time and wall clock.
class Clock {
 public:
  /// Returns the monotonic time, for lifetimes and timeouts.
  virtual Instant now() const = 0;
  /// Returns the wall clock, milliseconds since 1970-01-01 00:00 UTC, for times that must survive a
  /// restart.
  virtual std::int64_t wall_ms() const = 0;

 protected:
  ~Clock() = default;
};

/// The system's clocks.
class SystemClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::steady_clock::now(); }
  std::int64_t wall_ms() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
};

}  // namespace simco::middlebox
