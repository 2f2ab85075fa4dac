// Distribution of times with a fixed relative error, after Gil Tene's HDR histogram: 2048 buckets
// per power of two, so a value is off by less than 0.05 % of itself, from 1 ns to hours.
#pragma once

#include <cstdint>
#include <vector>

namespace simco::loadgen {

/// A histogram in constant memory.
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

}  // namespace simco::loadgen
