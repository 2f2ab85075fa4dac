// The load of a run: the due times of its transactions, the measured ones, and the remaining offer.
// Open loop: the schedule depends only on process, rate
// and seed, not on the replies.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "loadgen/recorder.hpp"

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

/// The load of a run.
struct OfferOptions {
  Arrivals arrivals = Arrivals::kPoisson;
  std::vector<std::int64_t>
      due;            ///< of read_due_times(), instead of process and rate; empty: those
  double rate = 100;  ///< transactions per second, over all connections
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> count;  ///< transactions to measure; nullopt: by duration
  double duration_s = 10;
  std::uint64_t warmup = 0;  ///< transactions to send first, without measuring them
};

/// Returns how long the schedule is, seconds; with Poisson arrivals and a count, on average.
double schedule_length_s(const OfferOptions& options);

/// The transactions, in sequence. Times are nanoseconds from the start of the schedule.
class Offer {
 public:
  explicit Offer(const OfferOptions& options);

  /// True if all transactions have been taken.
  bool over() const;
  /// Returns when the next transaction is due.
  std::int64_t next_ns() const { return schedule_.next_ns(); }
  /// Returns the due time of the last transaction taken.
  std::int64_t last_ns() const { return last_ns_; }
  /// Takes the next transaction, at `now`.
  Sample take(std::int64_t now);
  /// False for those of the warm-up.
  bool measured(const Sample& sample) const { return sample.index >= options_.warmup; }
  /// Returns the rest of the schedule, seconds.
  double left_s(std::int64_t now) const;

 private:
  OfferOptions options_;
  Schedule schedule_;
  std::uint64_t next_index_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t measure_from_ns_ = -1;  ///< scheduled time of the first measured transaction
};

}  // namespace simco::loadgen
