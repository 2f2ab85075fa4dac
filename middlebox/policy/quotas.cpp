#include "middlebox/policy/quotas.hpp"

#include "middlebox/policy/authorization.hpp"

namespace simco::policy {

bool Quotas::allow_rule(AgentId id) const {
  const Agent& agent = agents_[id];
  return rules_.size() < limits_.rules_max && agent.rule_count < agent.policy->rules_max;
}

bool Quotas::allow_elements(AgentId id, std::uint32_t elements) const {
  const Agent& agent = agents_[id];
  return elements_ + elements <= limits_.elements_max &&
         (agent.policy == nullptr ||
          std::uint64_t{agent.elements} + elements <= agent.policy->elements_max);
}

void Quotas::set_elements(RuleSlot slot, std::uint16_t elements) {
  Rule& rule = rules_[slot];
  Agent& owner = agents_[rule.owner];
  elements_ += elements;
  elements_ -= rule.elements;
  owner.elements += elements;
  owner.elements -= rule.elements;
  rule.elements = elements;
}

// With the same limits and in the same order as allow_rule() and allow_elements().
std::string Quotas::reached(AgentId id, std::uint32_t elements) const {
  const Agent& agent = agents_[id];
  const auto text = [](const std::string& limit, std::uint32_t value) {
    return limit + " (" + std::to_string(value) + ") is reached";
  };
  const std::string of_agent = " of '" + std::string(agent.name) + "'";
  if (rules_.size() >= limits_.rules_max) return text("--max-rules", limits_.rules_max);
  if (agent.policy != nullptr && agent.rule_count >= agent.policy->rules_max) {
    return text("'max-rules'" + of_agent, agent.policy->rules_max);
  }
  if (elements_ + elements > limits_.elements_max || agent.policy == nullptr) {
    return text("--max-elements", limits_.elements_max);
  }
  return text("'max-elements'" + of_agent, agent.policy->elements_max);
}

}  // namespace simco::policy
