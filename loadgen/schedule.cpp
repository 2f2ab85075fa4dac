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

}  // namespace simco::loadgen
