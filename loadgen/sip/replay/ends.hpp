// The two ends of a replay.
#pragma once

#include "loadgen/options.hpp"
#include "loadgen/sip/sip_options.hpp"

namespace simco::loadgen::replay {

/// Connects, plans the messages and the answers that simco-sip with the settings `box` would give,
/// runs the plan, and writes JSON and samples as simco-loadgen does. Returns the exit status.
/// Throws std::runtime_error.
int offer(const Settings& settings, const SipSettings& box);
/// Listens and hands connections to the kernel until SIGTERM; writes JSON and samples as simco-sip
/// does. Returns the exit status. Throws std::runtime_error.
int serve(const SipSettings& settings);

}  // namespace simco::loadgen::replay
