// The wall clock of a run: steps forward and back, while virtual time only goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/support/virtual_time.hpp"

namespace simco::simulator {

class WallClock {
 public:
  using Ms = std::chrono::milliseconds;

  /// Begins where `time` is, which must outlive this.
  explicit WallClock(const test::VirtualTime& time) : time_(time) {}

  std::int64_t now_ms() const {
    return (std::chrono::duration_cast<Ms>(time_.now().time_since_epoch()) + ahead_).count();
  }
  void step(Ms by) {
    ahead_ += by;
    ahead_so_far_.insert(ahead_);
  }
  /// Returns the moments at which it shows `shown_ms`, one for each of its settings so far.
  std::vector<Instant> moments_of(std::int64_t shown_ms) const {
    std::vector<Instant> result;
    for (const auto ahead : ahead_so_far_) result.emplace_back(Ms(shown_ms) - ahead);
    return result;
  }

 private:
  const test::VirtualTime& time_;
  Ms ahead_{0};
  std::set<Ms> ahead_so_far_{Ms{0}};
};

}  // namespace simco::simulator
