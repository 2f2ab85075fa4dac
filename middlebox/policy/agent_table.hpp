// The agents that own rules or have a session, by name. An agent that has neither is removed, so
// that peers with ever new addresses take no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

class AgentDirectory;
struct AgentPolicy;

/// An agent that is known to the engine.
struct Agent {
  /// Owner attribute of its rules, at most kOwnerSizeMax octets; valid as long as the agent is in
  /// the table.
  std::string_view name;
  RuleList rules;                       ///< its live rules, in the order of their creation
  std::uint32_t rule_count = 0;         ///< number of its rules, pending ones included
  std::uint32_t elements = 0;           ///< sum of Rule::elements of its rules
  std::uint32_t live_count = 0;         ///< number of rules in `rules`
  std::uint32_t holds = 0;              ///< number of sessions and rules that keep it in the table
  const AgentPolicy* policy = nullptr;  ///< its rights; nullptr: no longer configured
};

/// The agents, by id and by name. Not thread-safe.
class AgentTable {
 public:
  Agent& operator[](AgentId id) { return agents_[id.value]; }
  const Agent& operator[](AgentId id) const { return agents_[id.value]; }
  std::size_t size() const { return by_name_.size(); }
  /// Returns the agent called `name`, if it is in the table.
  std::optional<AgentId> find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Calls visit(AgentId) for every agent.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [name, id] : by_name_) visit(id);
  }

  /// Returns the agent called `name`, added if necessary, with a further hold.
  AgentId acquire(std::string_view name);
  /// Applies a new configuration. `directory` must outlive its use here.
  void apply(const AgentDirectory& directory);
  /// Returns the agents that may see rules of others.
  const std::vector<AgentId>& watchers() const { return watchers_; }
  void hold(AgentId id) { ++agents_[id.value].holds; }
  /// Removes a hold, and with the last hold the agent.
  void release(AgentId id);

 private:
  void resolve(AgentId id);

  std::vector<Agent> agents_;
  std::vector<AgentId> free_;
  std::unordered_map<std::string, AgentId> by_name_;
  std::vector<AgentId> watchers_;
  const AgentDirectory* directory_ = nullptr;
};

}  // namespace simco::policy
