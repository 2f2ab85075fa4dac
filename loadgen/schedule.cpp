#include "loadgen/schedule.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>

#include "loadgen/limits.hpp"

namespace simco::loadgen {

Schedule::Schedule(Arrivals arrivals, double rate, std::uint64_t seed)
    : arrivals_(arrivals), interval_ns_(1e9 / rate), random_(seed) {
  if (arrivals_ == Arrivals::kPoisson) advance();
}

Schedule::Schedule(std::vector<std::int64_t> due)
    : due_(std::move(due)), arrivals_(Arrivals::kConstant), interval_ns_(0) {}

void Schedule::advance() {
  if (!due_.empty()) {
    count_ = std::min<std::uint64_t>(count_ + 1, due_.size() - 1);
    return;
  }
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

std::expected<std::vector<std::int64_t>, std::string> read_due_times(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::unexpected("cannot read " + path + ": " + std::strerror(errno));
  std::vector<std::int64_t> result;
  for (std::string line; std::getline(file, line);) {
    double seconds = 0;
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data(), end, seconds);
    const bool good = error == std::errc() && stop == end && seconds >= 0 && seconds <= kSecondsMax;
    const auto due = good ? static_cast<std::int64_t>(seconds * 1e9) : -1;
    if (due < (result.empty() ? 0 : result.back())) {
      return std::unexpected(path + ":" + std::to_string(result.size() + 1) +
                             ": expected seconds, none less than the line before, got '" + line +
                             "'");
    }
    if (result.size() == kDueTimesMax) {
      return std::unexpected(path + ": more than " + std::to_string(kDueTimesMax) + " lines");
    }
    result.push_back(due);
  }
  if (result.empty()) return std::unexpected(path + " has no lines");
  return result;
}

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
