// The engine's decision about a request, and its outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/rule_table.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/messages.hpp"

namespace simco::policy {

/// The sender of a request.
struct RequestContext {
  AgentId agent;
  TransactionId tid;
  /// Maximum lifetime in the capabilities that its session was told (8.3.1), seconds.
  std::uint32_t lifetime_max_s = 0xFFFF'FFFF;
  /// All earlier changes of the session are settled. Otherwise, a request that would be refused
  /// because of their resources must wait.
  bool settled = true;
};

enum class Verdict : std::uint8_t {
  kReplied,         ///< `Plan::reply` is the reply
  kPlanned,         ///< `Plan::change` must be carried out, then settled
  kWaitForRule,     ///< the rule `Plan::awaited` has a change under way: retry after that
  kWaitForChanges,  ///< depends on earlier changes of the session: retry when these are settled
};

/// The decision about a request, or about an expired rule.
struct Plan {
  Verdict verdict = Verdict::kReplied;
  Transaction transaction{};  ///< that the request begins
  Body reply;                 ///< views in it are valid until the engine is called again
  PolicyRuleId awaited;
  RuleSlot slot = kNoSlot;  ///< of the change's rule, for settle()
  rule::RuleChange change;
  std::uint32_t weight = 0;  ///< cost of the change for the backend
  AgentId charged_to;        ///< agent whose share of the backend's time it takes
  rule::IdPositions ids;     ///< current positions of the identifiers, stored with the rules
};

/// An event for all sessions that may see the rule, except the session that caused it (8.9).
struct RuleEvent {
  PolicyRuleId pid;
  Lifetime lifetime;  ///< 0: the rule has ended
  AgentId owner;
  TransactionId creating_tid;
  PolicyRuleId ended_by;  ///< disable rule that ended it; 0: none did
};

/// The outcome of a change.
struct Outcome {
  Body reply;                      ///< for the session that requested it
  std::optional<RuleEvent> event;  ///< if it has been carried out
  /// A disable rule is in force: end_disabled() must look for the rules that it overlaps until it
  /// is complete. The reply must wait until the disable rule is completed, there or by the outcome
  /// of another change.
  bool disabling = false;
  PolicyRuleId ended_by;  ///< disable rule that this change has ended the rule for; 0: none
  /// Disable rules that were waiting only for the end of this rule.
  std::vector<PolicyRuleId> completed_disables;
};

}  // namespace simco::policy
