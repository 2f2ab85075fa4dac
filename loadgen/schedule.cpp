#include "loadgen/schedule.hpp"

#include <cmath>

namespace simco::loadgen {

Schedule::Schedule(Arrivals arrivals, double rate, std::uint64_t seed)
    : arrivals_(arrivals), interval_ns_(1e9 / rate), random_(seed) {
  if (arrivals_ == Arrivals::kPoisson) advance();
}

void Schedule::advance() {
  ++count_;
  if (arrivals_ == Arrivals::kConstant) {
    next_ns_ = static_cast<double>(count_) * interval_ns_;
    return;
  }
  // Exponential gaps by inversion, from 53 random bits: the same on every machine, which the
  // standard library's distributions do not promise. 1 - u is never 0.
  const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
  next_ns_ += -std::log(1.0 - u) * interval_ns_;
}

}  // namespace simco::loadgen
