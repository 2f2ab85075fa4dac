// The maximum numbers of rules and kernel elements, in all and of an agent.
#pragma once

#include <cstdint>
#include <string>

#include "middlebox/policy/agent_table.hpp"
#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

/// Counts elements (Rule::elements) and knows the limits. Not thread-safe.
class Quotas {
 public:
  struct Limits {
    std::uint32_t rules_max = kRulesMaxDefault;
    std::uint32_t elements_max = kElementsMaxDefault;
  };
  Quotas(const Limits& limits, RuleTable& rules, AgentTable& agents)
      : limits_(limits), rules_(rules), agents_(agents) {}

  /// True if the agent, which must be configured, may have a further rule.
  bool allow_rule(AgentId id) const;
  /// True if the agent may have so many further elements.
  bool allow_elements(AgentId id, std::uint32_t elements) const;
  /// Sets the number of elements of the rule.
  void set_elements(RuleSlot slot, std::uint16_t elements);
  /// Returns the sum of the elements of all rules.
  std::uint64_t elements() const { return elements_; }
  /// Returns the limit that keeps the agent from having a further rule with so many elements, for
  /// the log.
  std::string reached(AgentId id, std::uint32_t elements) const;

 private:
  Limits limits_;
  RuleTable& rules_;
  AgentTable& agents_;
  std::uint64_t elements_ = 0;
};

}  // namespace simco::policy
