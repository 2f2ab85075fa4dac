// When to try again after attempts that failed.
#pragma once

#include <algorithm>
#include <chrono>

namespace simco {

/// Delays that double from the first to the longest. Each has a random part, so that the agents of
/// a middlebox that comes back do not all arrive at once.
class Backoff {
 public:
  using Duration = std::chrono::nanoseconds;

  Backoff(Duration first, Duration longest) : first_(first), longest_(longest), next_(first) {}

  /// Returns the next delay: between half of it and all of it. `random`: at least 0, below 1.
  Duration next(double random) {
    const Duration delay = std::min(next_, longest_);
    next_ = std::min(delay * 2, longest_);
    return delay / 2 + std::chrono::duration_cast<Duration>(delay / 2 * random);
  }
  /// An attempt succeeded: the next delay is the first again.
  void reset() { next_ = first_; }

 private:
  Duration first_;
  Duration longest_;
  Duration next_;
};

}  // namespace simco
