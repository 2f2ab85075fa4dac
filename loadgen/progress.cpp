#include "loadgen/progress.hpp"

#include <fmt/format.h>

#include <cmath>

namespace simco::loadgen {

std::string duration_text(double seconds) {
  constexpr double kMost = 1e9;  // 30 years
  if (!(seconds < kMost)) return "30 years or more";
  const auto whole = static_cast<long>(std::ceil(seconds));
  constexpr long kMinute = 60;
  constexpr long kHour = 60 * kMinute;
  if (whole < 2 * kMinute) return fmt::format("{} s", whole);
  if (whole < 2 * kHour) return fmt::format("{} min {} s", whole / kMinute, whole % kMinute);
  return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
}

std::string plan_text(const GeneratorOptions& options) {
  const auto time = duration_text(schedule_length_s(options));
  const auto warmup =
      options.warmup == 0 ? std::string() : fmt::format(" after {} to warm up", options.warmup);
  return options.count ? fmt::format("{} transactions at {}/s{}: about {}", *options.count,
                                     options.rate, warmup, time)
                       : fmt::format("{}/s{}: about {}", options.rate, warmup, time);
}

std::string progress_text(const Generator::Progress& progress) {
  return fmt::format("{:>10}  {:>10} offered  {:>10} answered  {:>7} in flight  {:>10} left",
                     duration_text(std::max(progress.elapsed_s, 0.0)), progress.offered,
                     progress.finished, progress.in_flight, duration_text(progress.left_s));
}

}  // namespace simco::loadgen
