// Bounds of agents.
#pragma once

#include <cstddef>

namespace simco::agent {

/// Rules that a question for counters may name, the middlebox's own limit; more are several
/// questions.
inline constexpr std::size_t kInspectedRulesMax = 256;

}  // namespace simco::agent
