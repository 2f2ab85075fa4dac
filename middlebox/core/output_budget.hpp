// Peers that do not read: a bound for all output queues together.
#pragma once

#include <cstddef>

#include "middlebox/limits.hpp"

namespace simco::middlebox {

/// The octets in all output queues.
class OutputBudget {
 public:
  /// `max`: see kOutputTotalMax.
  explicit OutputBudget(std::size_t max) : max_(max) {}

  void exchange(std::size_t before, std::size_t after) { octets_ += after - before; }
  bool exceeded() const { return octets_ > max_; }

 private:
  std::size_t max_;
  std::size_t octets_ = 0;
};

/// The octets in the queue of one connection, as counted in the budget.
class OutputShare {
 public:
  /// `budget` must outlive this.
  explicit OutputShare(OutputBudget& budget) : budget_(budget) {}

  void set(std::size_t octets) {
    budget_.exchange(octets_, octets);
    octets_ = octets;
  }
  /// The connection is over: the rest of its queue counts no more.
  void end() {
    set(0);
    ended_ = true;
  }
  bool ended() const { return ended_; }
  /// True if the budget is exceeded, and this by more than its share.
  bool too_large() const { return octets_ > kOutputShare && budget_.exceeded(); }

 private:
  OutputBudget& budget_;
  std::size_t octets_ = 0;
  bool ended_ = false;
};

}  // namespace simco::middlebox
