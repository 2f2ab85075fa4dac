// What --check finds beyond mistakes in the configuration itself: what will not work on this host,
// and what has no effect.
#pragma once

#include <vector>

#include "middlebox/config/backend_type.hpp"

namespace simco::middlebox {

struct Settings;

/// Returns what there is to say about settings that parse_settings() has accepted.
std::vector<Finding> examine(const Settings& settings);

}  // namespace simco::middlebox
