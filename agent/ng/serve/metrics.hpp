// The metrics of simco-ng, for Prometheus (exposition format 0.0.4). Label values come from fixed
// sets, never from input.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "agent/ng/protocol/request.hpp"

namespace simco::ng {

/// Counters, gauges and a histogram.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  /// Returns the metrics in Prometheus's format.
  std::string text() const;

  /// A request was replied to. `command`: nullopt if it was none.
  void replied(std::optional<Command> command, bool ok, std::chrono::steady_clock::duration time);
  /// A repetition was answered with the first reply, or left to it.
  void repeated();
  void session_lost();
  /// A call was ended for its silence.
  void media_timeout();
  void set(std::size_t calls, std::size_t rules, bool session);

 private:
  struct Figures;
  std::unique_ptr<Figures> figures_;
};

}  // namespace simco::ng
