// When transactions are due. An open loop: the schedule is fixed by rate and seed alone, whatever
// the replies do.
#pragma once

#include <cstdint>
#include <random>

namespace simco::loadgen {

enum class Arrivals : std::uint8_t { kPoisson, kConstant };

class Schedule {
 public:
  /// `rate`: transactions per second, above 0.
  Schedule(Arrivals arrivals, double rate, std::uint64_t seed);

  /// When the next transaction is due, nanoseconds after the start.
  std::int64_t next_ns() const { return static_cast<std::int64_t>(next_ns_); }
  /// Moves on to the one after.
  void advance();

 private:
  Arrivals arrivals_;
  double interval_ns_;  ///< mean time between arrivals
  double next_ns_ = 0;
  std::uint64_t count_ = 0;
  std::mt19937_64 random_;
};

}  // namespace simco::loadgen
