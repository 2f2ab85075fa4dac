// The metrics of simco-ng, for Prometheus (exposition format 0.0.4 over HTTP). Label values come
// from fixed sets, whatever is received.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "agent/ng/request.hpp"

namespace simco::ng {

/// Counters, gauges and a histogram. For the loop's thread; the server's own threads read.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  /// Serves the metrics at http://ADDRESS:PORT/metrics. Throws std::runtime_error with a sentence
  /// on failure.
  void serve(const std::string& endpoint);

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
