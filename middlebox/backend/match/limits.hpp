// Bounds of the elements of a rule.
#pragma once

#include <cstdint>

namespace simco::backend::match {

/// Ports of a rule that become an element each (or one for two); larger ranges of one side become
/// an interval, of both sides they are refused.
inline constexpr std::uint32_t kPortsPerRuleMax = 1024;

}  // namespace simco::backend::match
