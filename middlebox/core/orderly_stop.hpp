// The orderly stop: sessions end by themselves, or after kStopTimeout.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "middlebox/limits.hpp"
#include "simco/wire/instant.hpp"

namespace simco::middlebox {

class OrderlyStop {
 public:
  /// Calls `stopped` from report(), once the stop is complete.
  void begin(Instant now, std::function<void()> stopped) {
    at_ = now + kStopTimeout;
    stopped_ = std::move(stopped);
  }
  bool begun() const { return at_.has_value(); }
  /// Returns when it is complete at the latest, if it has begun.
  std::optional<Instant> latest() const { return at_; }
  bool due(bool all_gone, Instant now) const { return at_ && (all_gone || *at_ <= now); }
  void complete() { complete_ = true; }
  bool is_complete() const { return complete_; }
  void report() {
    if (complete_ && stopped_) std::exchange(stopped_, nullptr)();
  }

 private:
  std::optional<Instant> at_;
  std::function<void()> stopped_;
  bool complete_ = false;
};

}  // namespace simco::middlebox
