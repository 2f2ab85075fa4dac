// The two ends of a replay.
#pragma once

#include <functional>

#include "loadgen/options.hpp"
#include "loadgen/replay/plan.hpp"
#include "loadgen/replay/script.hpp"
#include "simco/net/listener.hpp"

namespace simco::loadgen::replay {

/// Connects, plans the messages of the script, runs the plan, and writes JSON and samples as
/// simco-loadgen does. Returns the exit status. Throws std::runtime_error.
int offer(const Settings& settings, const Script& script);
/// Listens and hands connections to the kernel until SIGTERM, each after `welcome`. Returns the
/// plan with what has happened. Throws std::runtime_error.
Plan serve(const net::ListenOptions& options,
           const std::function<void(const net::BareSocket&)>& welcome);

}  // namespace simco::loadgen::replay
