#include "middlebox/policy/agent_table.hpp"

#include "simco/wire/limits.hpp"

namespace simco::policy {

AgentId AgentTable::acquire(std::string_view name) {
  SIMCO_ASSERT(name.size() <= kOwnerSizeMax);
  const auto [entry, is_new] = by_name_.try_emplace(std::string(name));
  if (is_new) {
    if (free_.empty()) {
      free_.push_back(AgentId{static_cast<std::uint32_t>(agents_.size())});
      agents_.emplace_back();
    }
    entry->second = free_.back();
    free_.pop_back();
    agents_[entry->second.value] = Agent{.name = entry->first, .rules = {}};
  }
  hold(entry->second);
  return entry->second;
}

void AgentTable::release(AgentId id) {
  Agent& agent = agents_[id.value];
  SIMCO_ASSERT(agent.holds > 0);
  if (--agent.holds != 0) return;
  by_name_.erase(agent.name);
  free_.push_back(id);
}

}  // namespace simco::policy
