// Who hears which event (RFC 4540 section 8.9): the open sessions of agents that may see the rule.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "middlebox/commit/requester.hpp"
#include "middlebox/policy/engine.hpp"

namespace simco::middlebox {

class Notifier {
 public:
  /// `engine` says who may see what; it must outlive this.
  explicit Notifier(const policy::PolicyEngine& engine) : engine_(engine) {}

  /// The session is open.
  void add(Requester& session);
  /// It is over.
  void remove(Requester& session);
  /// Open sessions, in all and of one agent.
  std::size_t count() const { return count_; }
  std::size_t count(rule::AgentId agent) const;

  /// Tells all sessions that may hear of it, except `cause`, which hears of it by the reply.
  void notify(const policy::RuleEvent& event, const Requester* cause) const;

 private:
  void notify_agent(rule::AgentId agent, const policy::RuleEvent& event,
                    const Requester* cause) const;

  const policy::PolicyEngine& engine_;
  std::unordered_map<rule::AgentId, std::vector<Requester*>> sessions_;
  std::size_t count_ = 0;
};

}  // namespace simco::middlebox
