// The times at which transactions are due. Open loop: the schedule depends only on process, rate
// and seed, not on the replies.
#pragma once

#include <cstdint>
#include <random>

namespace simco::loadgen {

/// The arrival process.
enum class Arrivals : std::uint8_t { kPoisson, kConstant };

/// A sequence of due times.
class Schedule {
 public:
  /// `rate`: transactions per second, above 0.
  Schedule(Arrivals arrivals, double rate, std::uint64_t seed);

  /// Returns when the next transaction is due, nanoseconds after the start.
  std::int64_t next_ns() const { return static_cast<std::int64_t>(next_ns_); }
  /// Advances to the following transaction.
  void advance();

 private:
  Arrivals arrivals_;
  double interval_ns_;  ///< mean time between arrivals
  double next_ns_ = 0;
  std::uint64_t count_ = 0;
  std::mt19937_64 random_;
};

}  // namespace simco::loadgen
