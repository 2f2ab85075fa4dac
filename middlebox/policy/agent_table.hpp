// The agents that own rules or have a session, by name. An agent is forgotten when it has neither,
// so that peers who come and go under new addresses leave nothing behind.
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

struct Agent {
  /// Owner attribute of its rules, at most kOwnerSizeMax octets; stays where it is as long as the
  /// agent is known.
  std::string_view name;
  RuleList rules;                       ///< its live rules, in the order of their creation
  std::uint32_t rule_count = 0;         ///< its rules, those that are being created included
  std::uint32_t elements = 0;           ///< what they take (Rule::elements)
  std::uint32_t live_count = 0;         ///< how many are in `rules`
  std::uint32_t holds = 0;              ///< sessions and rules that keep it here
  const AgentPolicy* policy = nullptr;  ///< what it may do; nullptr: nothing any more
};

class AgentTable {
 public:
  Agent& operator[](AgentId id) { return agents_[id.value]; }
  const Agent& operator[](AgentId id) const { return agents_[id.value]; }
  std::size_t size() const { return by_name_.size(); }
  /// The agent called `name`, if there is one.
  std::optional<AgentId> find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Calls visit(AgentId) for every agent.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [name, id] : by_name_) visit(id);
  }

  /// The agent called `name`, made if need be, with one more hold.
  AgentId acquire(std::string_view name);
  /// From now on `directory`, which outlives its use here, says what agents may do.
  void apply(const AgentDirectory& directory);
  /// Agents that may see rules of others.
  const std::vector<AgentId>& watchers() const { return watchers_; }
  void hold(AgentId id) { ++agents_[id.value].holds; }
  /// Takes a hold back; the last one ends the agent.
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
