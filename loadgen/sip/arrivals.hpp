// The arrival times of a run's INVITEs at simco-sip, for the one-way delay.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <unordered_map>
#include <vector>

#include "loadgen/sip/call.hpp"

namespace simco::loadgen::sip {

/// An entry per call.
class Arrivals {
 public:
  /// Notes a copy of a call's INVITE. Of more than kArrivalsMax calls nothing is noted.
  void add(CallId call, std::chrono::steady_clock::time_point now);

  /// Returns how many calls were too many.
  std::uint64_t not_noted() const { return not_noted_; }
  /// Writes `call,arrived_ns,copies,run`, sorted by run and call: the time of the first copy on the
  /// machine's monotonic clock, how many copies arrived in all, and run_text() of the call's run.
  /// Returns a sentence on failure.
  std::expected<void, std::string> write(const std::string& path) const;

 private:
  struct Entry {
    CallId call;
    std::int64_t arrived_ns;
    std::uint32_t copies;
  };
  std::vector<Entry> entries_;
  std::unordered_map<CallId, std::size_t> places_;
  std::uint64_t not_noted_ = 0;
};

}  // namespace simco::loadgen::sip
