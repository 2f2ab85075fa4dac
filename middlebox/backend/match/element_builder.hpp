// Turns policy rules into the elements that enforce them. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "middlebox/backend/match/element.hpp"
#include "middlebox/rule/rule_record.hpp"

namespace simco::backend::match {

/// Whether an even port and the next, on both sides, share an element.
enum class PortPairs : std::uint8_t {
  kTogether,
  kApart,  ///< to count each port for itself
};

/// Appends to `elements` those that enforce `rule`, which is an enable or a disable rule. Returns
/// false if elements cannot express the rule: ranges of more than kPortsPerRuleMax ports on both
/// sides.
bool make_elements(const rule::RuleRecord& rule, std::vector<Element>& elements,
                   PortPairs pairs = PortPairs::kTogether);

/// Appends intervals that are equivalent to `element` to `elements`, for use if another mask does
/// not fit. Not for translations.
void add_intervals(const Element& element, std::vector<Element>& elements);

}  // namespace simco::backend::match
