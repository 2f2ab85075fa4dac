#include "loadgen/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace simco::loadgen {
namespace {
constexpr unsigned kPrecisionBits = 11;
constexpr std::uint64_t kBuckets = std::uint64_t{1} << kPrecisionBits;
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

}  // namespace simco::loadgen
