// The metrics of simco-ng, for Prometheus (exposition format 0.0.4). Label values come from fixed
// sets, never from input.
#pragma once

#include <array>
#include <chrono>
#include <optional>

#include "agent/ng/protocol/request.hpp"
#include "simco/metrics/registry.hpp"

namespace simco::ng {

/// Counters, gauges and a histogram; all of them are in the registry.
struct Metrics {
  Metrics();
  /// A request was replied to. `command`: nullopt if it was none.
  void replied(std::optional<Command> command, bool ok, std::chrono::steady_clock::duration time);

  metrics::Registry registry;
  /// For each command and for all others, errors and successes.
  std::array<std::array<double*, 2>, kCommands + 1> requests{};
  metrics::Histogram& times;
  double& repetitions =
      registry.counter("simco_ng_repetitions_total", "Requests that repeat an earlier one.");
  double& sessions_lost = registry.counter("simco_ng_sessions_lost_total",
                                           "Sessions with the middlebox that were lost.");
  double& media_timeouts = registry.counter("simco_ng_media_timeouts_total",
                                            "Calls ended because none of their media passed.");
  double& calls = registry.gauge("simco_ng_calls", "Calls.");
  double& rules = registry.gauge("simco_ng_rules", "Rules and reservations of calls.");
  double& session =
      registry.gauge("simco_ng_session", "1 if a session with the middlebox is open.");
};

}  // namespace simco::ng
