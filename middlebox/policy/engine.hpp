// What requests mean (RFC 4540 section 8): policy rules, their groups, owners and lifetimes. No
// I/O, no clock, no logging.
//
// The kernel answers later, so a change takes two steps. plan() makes all checks, takes what the
// rule needs and describes the change for the backend; commit() or roll_back() follows when the
// backend has spoken. In between the rule is visible to conflict checks and to nobody else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "middlebox/backend/rule_change.hpp"
#include "middlebox/policy/agent_table.hpp"
#include "middlebox/policy/expiry_queue.hpp"
#include "middlebox/policy/group_table.hpp"
#include "middlebox/policy/id_sequence.hpp"
#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/rule_table.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/messages.hpp"

namespace simco::policy {

/// A change that is with the backend.
struct PlannedChange {
  RuleSlot slot;
  backend::RuleChange::Kind kind = backend::RuleChange::Kind::kEnable;
  Lifetime lifetime;  ///< granted; 0 with kRemove
  Instant deadline;   ///< when that lifetime ends
};

/// News about a rule for everybody who may access it, except the one who caused it (8.9).
struct RuleEvent {
  PolicyRuleId pid;
  Lifetime lifetime;  ///< 0: the rule is gone
  AgentId owner;
  TransactionId created_by;
};

class PolicyEngine {
 public:
  struct Options {
    Capabilities capabilities;  ///< as told to agents; lifetime_max_s bounds what is granted
    std::uint32_t rules_max = kRulesMaxDefault;
  };

  explicit PolicyEngine(const Options& options) : options_(options) {}
  PolicyEngine(const PolicyEngine&) = delete;
  PolicyEngine& operator=(const PolicyEngine&) = delete;

  /// An agent begins a session under `name`; end it with release(). The result stands for the agent
  /// until then, and as long as it owns rules.
  AgentId acquire(std::string_view name) { return agents_.acquire(name); }
  void release(AgentId agent) { agents_.release(agent); }
  /// Valid until the next acquire().
  std::string_view name(AgentId agent) const { return agents_[agent].name; }
  /// May `agent` see and change rules and groups of `owner`?
  bool may_access(AgentId agent, AgentId owner) const { return agent == owner; }

  enum class Verdict : std::uint8_t {
    kReplied,  ///< `reply` is the answer
    kPlanned,  ///< `change` is to be carried out, then committed or rolled back
    kWait,     ///< the rule in `change.slot` has a change under way: ask again when that is decided
  };
  /// Decides a policy rule request of `agent`. Views in `reply` are valid until the next call.
  Verdict plan(AgentId agent, TransactionId tid, const Body& request, Instant now, Body& reply,
               PlannedChange& change);

  /// The change as the backend is to see it.
  backend::RuleChange describe(const PlannedChange& change) const;

  /// The backend has carried out `change`: fills in the answer and the event.
  void commit(const PlannedChange& change, Instant now, Body& reply, RuleEvent& event);
  /// The backend has not: undoes the plan and fills in the answer.
  void roll_back(const PlannedChange& change, backend::ChangeResult why, Instant now, Body& reply);

  /// When plan_expiry() is due next, if ever.
  std::optional<Instant> next_expiry() const { return expiry_.next(); }
  /// Plans the removal of rules whose lifetime is over, at most kExpiryBatchMax.
  void plan_expiry(Instant now, std::vector<PlannedChange>& changes);

  /// Live rules, those that are being created included.
  std::size_t rule_count() const { return rules_.size(); }
  std::size_t group_count() const { return groups_.size(); }
  std::size_t agent_count() const { return agents_.size(); }

  /// Where the PIDs stand, to be taken down when a session opens.
  std::uint64_t id_position() const { return pids_.position(); }
  /// False when a session that opened at `opened` must end, lest it sees a PID mean two rules.
  bool session_young_enough(std::uint64_t opened) const { return pids_.young_enough(opened); }

 private:
  Verdict enable(AgentId agent, TransactionId tid, const PerRequest& request, Instant now,
                 Body& reply, PlannedChange& change);
  Verdict change_lifetime(AgentId agent, const PlcRequest& request, Instant now, Body& reply,
                          PlannedChange& change);
  Verdict report_status(AgentId agent, const PrsRequest& request, Instant now, Body& reply) const;
  Verdict list_rules(AgentId agent, Body& reply) const;

  std::optional<NegativeReplyCode> check_enable(AgentId agent, const PerRequest& request) const;
  /// Slot of a rule that `agent` may access, or the refusal of 8.5 and 8.6 in `reply`.
  RuleSlot find_accessible(AgentId agent, PolicyRuleId pid, Body& reply) const;
  Lifetime grant(Lifetime requested) const;
  RuleSlot create_rule(AgentId agent, TransactionId tid, const PerRequest& request);
  /// Ends a rule that is in no list but the table.
  void destroy_rule(RuleSlot slot);
  void commit_enable(const PlannedChange& change, Body& reply);
  void commit_removal(const PlannedChange& change);

  Options options_;
  AgentTable agents_;
  RuleTable rules_;
  GroupTable groups_;
  IdSequence<> pids_;
  ExpiryQueue expiry_{rules_};
};

}  // namespace simco::policy
