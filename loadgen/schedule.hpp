// The times at which transactions are due. Open loop: the schedule depends only on process, rate
// and seed, not on the replies.
#pragma once

#include <cstdint>
#include <expected>
#include <random>
#include <string>
#include <vector>

namespace simco::loadgen {

/// Reads a file with a number of seconds in each line, in ascending order, and returns them in
/// nanoseconds. The error is a phrase that names file and line.
std::expected<std::vector<std::int64_t>, std::string> read_due_times(const std::string& path);

/// The arrival process.
enum class Arrivals : std::uint8_t { kPoisson, kConstant };

/// A sequence of due times.
class Schedule {
 public:
  /// `rate`: transactions per second, above 0.
  Schedule(Arrivals arrivals, double rate, std::uint64_t seed);
  /// The times of read_due_times(), which are not empty. It stays at the last.
  explicit Schedule(std::vector<std::int64_t> due);

  /// Returns when the next transaction is due, nanoseconds after the start.
  std::int64_t next_ns() const {
    if (!due_.empty()) return due_[count_];
    return static_cast<std::int64_t>(next_ns_);
  }
  /// Advances to the following transaction.
  void advance();

 private:
  std::vector<std::int64_t> due_;  ///< empty: by the process
  Arrivals arrivals_;
  double interval_ns_;  ///< mean time between arrivals
  double next_ns_ = 0;
  std::uint64_t count_ = 0;
  std::mt19937_64 random_;
};

}  // namespace simco::loadgen
