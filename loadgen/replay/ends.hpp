// The two ends of a replay.
#pragma once

#include "loadgen/options.hpp"
#include "loadgen/replay/plan.hpp"
#include "loadgen/replay/script.hpp"
#include "simco/net/listener.hpp"

namespace simco::loadgen::replay {

/// Connects, plans the messages of the script, runs the plan, and writes JSON and samples as
/// simco-loadgen does. Returns the exit status. Throws std::runtime_error.
int offer(const Settings& settings, const Script& script);
/// Listens and hands connections to the kernel until SIGTERM. Returns the plan with what has
/// happened. Throws std::runtime_error.
Plan serve(const net::ListenOptions& options);

}  // namespace simco::loadgen::replay
