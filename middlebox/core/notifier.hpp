// Sends rule events (RFC 4540 section 8.9) to the open sessions of agents that may see the rule.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "middlebox/commit/requester.hpp"
#include "middlebox/policy/engine.hpp"

namespace simco::middlebox {

/// The open sessions, by agent. Not thread-safe.
class Notifier {
 public:
  /// `engine` decides which agents may see a rule; it must outlive this.
  explicit Notifier(const policy::PolicyEngine& engine) : engine_(engine) {}

  /// Adds a session that was opened.
  void add(Requester& session);
  /// Removes a session that ended.
  void remove(Requester& session);
  /// Returns the number of open sessions, of all agents or of one.
  std::size_t count() const { return count_; }
  std::size_t count(rule::AgentId agent) const { return sessions_of(agent).size(); }

  /// Returns the number of sessions that may see rules of `owner`.
  std::size_t audience(rule::AgentId owner) const;

  /// Notifies all sessions that may see the rule, except `cause`, which gets the reply instead.
  void notify(const policy::RuleEvent& event, const Requester* cause) const;

 private:
  using Sessions = std::vector<Requester*>;

  /// Returns those of an agent.
  std::span<Requester* const> sessions_of(rule::AgentId agent) const {
    if (agent.value >= sessions_.size()) return {};
    return sessions_[agent.value];
  }
  void notify_agent(rule::AgentId agent, const policy::RuleEvent& event,
                    const Requester* cause) const;

  const policy::PolicyEngine& engine_;
  std::vector<Sessions> sessions_;  ///< by agent: the numbers of those that are there are small
  std::size_t count_ = 0;
};

}  // namespace simco::middlebox
