#include "middlebox/policy/agent_table.hpp"

#include "middlebox/policy/authorization.hpp"
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
    resolve(entry->second);
  }
  hold(entry->second);
  return entry->second;
}

void AgentTable::release(AgentId id) {
  Agent& agent = agents_[id.value];
  SIMCO_ASSERT(agent.holds > 0);
  if (--agent.holds != 0) return;
  std::erase(watchers_, id);
  by_name_.erase(by_name_.find(std::string(agent.name)));
  free_.push_back(id);
}

void AgentTable::apply(const AgentDirectory& directory) {
  directory_ = &directory;
  watchers_.clear();
  for (const auto& [name, id] : by_name_) resolve(id);
}

void AgentTable::resolve(AgentId id) {
  Agent& agent = agents_[id.value];
  agent.policy = directory_ == nullptr ? nullptr : directory_->find(agent.name);
  if (agent.policy != nullptr && agent.policy->sees_others()) watchers_.push_back(id);
}

}  // namespace simco::policy
