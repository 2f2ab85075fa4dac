// Quantiles from buckets, batch means, and their confidence interval.
#include "loadgen/statistics.hpp"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "loadgen/limits.hpp"

namespace simco::loadgen {
namespace {

constexpr unsigned kPrecisionBits = 11;
constexpr std::uint64_t kBuckets = std::uint64_t{1} << kPrecisionBits;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

// Values below 2 * kBuckets have a bucket each. Above, a value is shifted right until it has 12
// significant bits; the shift and the 11 bits below the leading bit make the index.
std::size_t Histogram::index_of(std::uint64_t value) {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  const unsigned shift = width > kPrecisionBits + 1 ? width - (kPrecisionBits + 1) : 0;
  return static_cast<std::size_t>(shift * kBuckets + (value >> shift));
}

std::int64_t Histogram::highest(std::size_t index) {
  if (index < 2 * kBuckets) return static_cast<std::int64_t>(index);
  const std::uint64_t shift = index / kBuckets - 1;
  const std::uint64_t mantissa = index - shift * kBuckets;
  return static_cast<std::int64_t>(((mantissa + 1) << shift) - 1);
}

Histogram::Histogram() : buckets_(index_of(kValueMax) + 1) {}

void Histogram::add(std::int64_t value_ns) {
  const auto value = static_cast<std::uint64_t>(std::clamp(value_ns, std::int64_t{0}, kValueMax));
  ++buckets_[index_of(value)];
  ++count_;
}

std::int64_t Histogram::quantile(double fraction) const {
  if (count_ == 0) return 0;
  const auto wanted =
      static_cast<std::uint64_t>(std::max(1.0, std::ceil(fraction * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return highest(i);
  }
  return kValueMax;
}

double half_width95(double stddev, std::uint64_t count) {
  if (count < 2) return 0;
  // Not by way of long double, which valgrind does not have whole.
  using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  const boost::math::students_t_distribution<double, Policy> distribution(
      static_cast<double>(count - 1));
  return boost::math::quantile(distribution, 0.975) * stddev /
         std::sqrt(static_cast<double>(count));
}

void BatchMeans::add(double value) {
  batch_sum_ += value;
  if (++batch_count_ < batch_length_) return;
  means_.push_back(batch_sum_ / static_cast<double>(batch_length_));
  batch_sum_ = 0;
  batch_count_ = 0;
  if (means_.size() < kBatchesMax) return;
  for (std::size_t i = 0; i < kBatchesMax / 2; ++i) {
    means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
  }
  means_.resize(kBatchesMax / 2);
  batch_length_ *= 2;
}

std::optional<BatchMeans::Interval> BatchMeans::interval95() const {
  const std::size_t n = means_.size();
  if (n < 2) return std::nullopt;
  const double mean = mean_of(means_);
  double squares = 0;
  double products = 0;
  for (std::size_t i = 0; i < n; ++i) {
    squares += (means_[i] - mean) * (means_[i] - mean);
    if (i > 0) products += (means_[i] - mean) * (means_[i - 1] - mean);
  }
  const double stddev = std::sqrt(squares / static_cast<double>(n - 1));
  return Interval{half_width95(stddev, n), squares > 0 ? products / squares : 0, n};
}

void Distribution::add(std::int64_t time_ns) {
  const double ms = static_cast<double>(time_ns) / 1e6;
  min_ns_ = count() == 0 ? time_ns : std::min(min_ns_, time_ns);
  max_ns_ = count() == 0 ? time_ns : std::max(max_ns_, time_ns);
  histogram_.add(time_ns);
  batches_.add(ms);
  const double before = ms - mean_ms_;
  mean_ms_ += before / static_cast<double>(count());
  squares_ += before * (ms - mean_ms_);
}

Summary Distribution::summary() const {
  Summary result;
  result.count = count();
  if (result.count == 0) return result;
  const auto quantile_ms = [&](double fraction) {
    return static_cast<double>(std::min(histogram_.quantile(fraction), max_ns_)) / 1e6;
  };
  result.mean = mean_ms_;
  result.min = static_cast<double>(min_ns_) / 1e6;
  result.max = static_cast<double>(max_ns_) / 1e6;
  result.p50 = quantile_ms(0.5);
  result.p90 = quantile_ms(0.9);
  result.p95 = quantile_ms(0.95);
  result.p99 = quantile_ms(0.99);
  result.p999 = quantile_ms(0.999);
  if (result.count < 2) return result;
  result.stddev = std::sqrt(squares_ / static_cast<double>(result.count - 1));
  result.ci95_independent = half_width95(result.stddev, result.count);
  if (const auto interval = batches_.interval95()) {
    result.ci95 = interval->half_width;
    result.lag1_correlation = interval->lag1_correlation;
    result.batches = interval->batches;
  }
  return result;
}

}  // namespace simco::loadgen
