// The findings of --check beyond mistakes in the configuration itself: obstacles of this host, and
// options without effect.
#pragma once

#include <vector>

#include "middlebox/config/backend_type.hpp"

namespace simco::middlebox {

struct Settings;

/// Returns the findings about settings that parse_settings() has accepted.
std::vector<Finding> examine(const Settings& settings);

}  // namespace simco::middlebox
