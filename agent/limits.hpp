// Bounds of agents.
#pragma once

#include <cstddef>

namespace simco::agent {

/// Rules that one question for counters may name, which is what a middlebox takes; more are several
/// questions.
inline constexpr std::size_t kInspectedRulesMax = 256;

}  // namespace simco::agent
