#include "loadgen/offer.hpp"

#include <algorithm>

namespace simco::loadgen {

double schedule_length_s(const OfferOptions& options) {
  const auto counted = static_cast<double>(options.warmup + options.count.value_or(0));
  return counted / options.rate + (options.count ? 0 : options.duration_s);
}

Offer::Offer(const OfferOptions& options)
    : options_(options),
      schedule_(options.due.empty() ? Schedule(options.arrivals, options.rate, options.seed)
                                    : Schedule(options.due)) {}

bool Offer::over() const {
  if (options_.count) return next_index_ >= options_.warmup + *options_.count;
  if (measure_from_ns_ < 0) return false;
  return static_cast<double>(next_ns() - measure_from_ns_) >= options_.duration_s * 1e9;
}

Sample Offer::take(std::int64_t now) {
  Sample sample;
  sample.index = next_index_++;
  sample.scheduled_ns = last_ns_ = next_ns();
  sample.tried_ns = now;
  if (measured(sample) && measure_from_ns_ < 0) measure_from_ns_ = sample.scheduled_ns;
  schedule_.advance();
  return sample;
}

double Offer::left_s(std::int64_t now) const {
  // The remaining offer, in transactions or, after the warm-up, in time.
  const std::uint64_t planned = options_.warmup + options_.count.value_or(0);
  const auto to_offer = static_cast<double>(planned - std::min(planned, next_index_));
  if (options_.count) return to_offer / options_.rate;
  if (measure_from_ns_ < 0) return to_offer / options_.rate + options_.duration_s;
  return std::max(options_.duration_s - static_cast<double>(now - measure_from_ns_) / 1e9, 0.0);
}

}  // namespace simco::loadgen
