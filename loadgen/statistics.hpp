// Mean, standard deviation, percentiles, and a confidence interval that accounts for correlation.
//
// Successive response times are not independent: a retransmission delays all that wait behind it.
// The usual interval, t * s / sqrt(n) over single values, is then far too narrow. The method of
// batch means corrects this: neighbouring values are averaged in batches that are long enough for
// the averages to be nearly independent, and the interval is computed from those
// (doc/measuring.md).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace simco::loadgen {

/// Distribution of times in constant memory with a fixed relative error, after Gil Tene's HDR
/// histogram: 2048 buckets per power of two, so a value is off by less than 0.05 % of itself, from
/// 1 ns to hours.
class Histogram {
 public:
  Histogram();

  /// Adds a value; negative values count as 0, values above kValueMax as kValueMax.
  void add(std::int64_t value_ns);
  std::uint64_t count() const { return count_; }

  /// Returns the smallest recorded value (to the bucket's precision) that at least `fraction` of
  /// all values do not exceed, or 0 if there are none. `fraction` is from 0 to 1.
  std::int64_t quantile(double fraction) const;

  static constexpr std::int64_t kValueMax = (std::int64_t{1} << 44) - 1;  ///< about 4.9 hours

 private:
  static std::size_t index_of(std::uint64_t value);
  /// Returns the largest value of bucket `index`.
  static std::int64_t highest(std::size_t index);

  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
};

/// Averages of successive batches of equal length. The batch length doubles as values are added, so
/// that there are always 32 to 64 batches after the first 32 values, in constant memory.
class BatchMeans {
 public:
  void add(double value);

  struct Interval {
    double half_width;        ///< of the 95 % interval, in the unit of the values
    double lag1_correlation;  ///< of the batch means; near 0 if the batches were long enough
    std::size_t batches;
  };
  /// Returns nullopt if there are fewer than two complete batches.
  std::optional<Interval> interval95() const;

 private:
  std::vector<double> means_;
  double batch_sum_ = 0;
  std::uint64_t batch_count_ = 0;
  std::uint64_t batch_length_ = 1;
};

/// Returns the half width of the 95 % confidence interval of the mean of `count` independent values
/// with standard deviation `stddev` (Student's t); 0 for fewer than two.
double half_width95(double stddev, std::uint64_t count);

/// The reported statistics of a set of times, milliseconds.
struct Summary {
  std::uint64_t count = 0;
  double mean = 0;
  std::optional<double> ci95;              ///< half width, batch means
  std::optional<double> ci95_independent;  ///< half width as if values were independent
  std::optional<double> lag1_correlation;
  std::size_t batches = 0;
  double stddev = 0;
  double min = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

/// Collects times one by one, in the order of their ends.
class Distribution {
 public:
  void add(std::int64_t time_ns);
  std::uint64_t count() const { return histogram_.count(); }
  Summary summary() const;

 private:
  Histogram histogram_;
  BatchMeans batches_;
  // Welford's method: no cancellation, however long the run.
  double mean_ms_ = 0;
  double squares_ = 0;
  std::int64_t min_ns_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace simco::loadgen
