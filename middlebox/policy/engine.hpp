// What requests mean (RFC 4540 section 8): policy rules, their groups, owners, addresses and
// lifetimes. No I/O, no clock, no logging.
//
// The kernel answers later, so a change takes two steps. plan() makes all checks, allocates what
// the rule needs and returns the change as a value; settle() follows when the change has been
// carried out or has failed. In between, the rule is visible only to conflict checks.
//
// The changes of one rule must be settled in the order in which they were planned. Those of
// different rules may overtake each other: if a disable rule comes into force before an enable rule
// that was planned earlier, overridden() is true, and the enable rule is settled without being
// carried out.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "middlebox/policy/agent_table.hpp"
#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/checks.hpp"
#include "middlebox/policy/expiry_queue.hpp"
#include "middlebox/policy/group_table.hpp"
#include "middlebox/policy/id_sequence.hpp"
#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/nat.hpp"
#include "middlebox/policy/overlap_index.hpp"
#include "middlebox/policy/rule_table.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "middlebox/rule/rule_record.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/messages.hpp"

namespace simco::policy {

/// The sender of a request.
struct RequestContext {
  AgentId agent;
  TransactionId tid;
  /// Maximum lifetime in the capabilities that its session was told (8.3.1), seconds.
  std::uint32_t lifetime_max_s = 0xFFFF'FFFF;
  /// All earlier changes of the session are settled. Otherwise, a request that would be refused
  /// because of what one of them holds must wait.
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

/// An event for all sessions that may see the rule, except the one that caused it (8.9).
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
  /// A disable rule is in force, and what it hits must be looked for with end_disabled() until that
  /// is complete. The reply must wait until the disable rule is completed, there or by the outcome
  /// of another change.
  bool disabling = false;
  PolicyRuleId ended_by;  ///< disable rule that this change has ended the rule for; 0: none
  /// Disable rules that were waiting only for the end of this rule.
  std::vector<PolicyRuleId> completed_disables;
};

/// A step in the search for the enable rules that a disable rule hits.
struct DisableStep {
  std::uint32_t looked = 0;  ///< cost of the step: rules that it looked at
  std::uint32_t ended = 0;   ///< rules that it ended: they are now due for plan_expiry()
  bool found_all = false;    ///< the search is over
  bool completed = false;    ///< the disable rule waits for nothing more: its PDR can be answered
};

/// All policy rules and what they mean. Not thread-safe.
class PolicyEngine {
 public:
  struct Options {
    Capabilities backend;  ///< what can be enforced; lifetime_max_s bounds what is granted
    Protocols protocols = all_protocols();  ///< that can be enforced
    NatTable::Options nat;
    std::uint32_t rules_max = kRulesMaxDefault;
    std::uint32_t elements_max = kElementsMaxDefault;
    /// Entries of the index that are scanned for what a disable rule hits, before all rules are.
    std::uint32_t disable_scan_max = kDisableScanMax;
  };
  /// All but 255, which IANA reserves.
  static Protocols all_protocols() { return Protocols().set().reset(255); }

  explicit PolicyEngine(const Options& options);
  PolicyEngine(const PolicyEngine&) = delete;
  PolicyEngine& operator=(const PolicyEngine&) = delete;

  // --- Agents ---

  /// Applies a configuration; rules stay. `directory` must exist until the next call or the end of
  /// the engine. Before the first call, no agent may do anything.
  void apply(const AgentDirectory& directory) { agents_.apply(directory); }
  /// An agent begins a session under `name`; end it with release(). The returned number is valid
  /// until then, and as long as the agent owns rules.
  AgentId acquire(std::string_view name) { return agents_.acquire(name); }
  void release(AgentId agent) { agents_.release(agent); }
  /// As acquire(), for an agent that has a session or rules; end it with release() too.
  void hold(AgentId agent) { agents_.hold(agent); }
  /// Returns the agent called `name`, if it has a session or rules.
  std::optional<AgentId> find(std::string_view name) const { return agents_.find(name); }
  /// Returns the name of an agent; valid as long as it has a session or rules.
  std::string_view name(AgentId agent) const { return agents_[agent].name; }
  /// Returns what the agent may do; nullptr if it is no longer configured.
  const AgentPolicy* policy(AgentId agent) const { return agents_[agent].policy; }
  /// Returns the capabilities that are reported to `agent` (4.3.3).
  Capabilities capabilities(AgentId agent) const;
  /// True if `agent` may see rules of `owner`.
  bool may_see(AgentId agent, AgentId owner) const;
  /// True if `agent` may change rules of `owner`.
  bool may_change(AgentId agent, AgentId owner) const;
  /// Returns the agents that may see rules of others.
  const std::vector<AgentId>& watchers() const { return agents_.watchers(); }

  // --- Requests ---

  /// Decides a policy rule request.
  Plan plan(const RequestContext& context, const Body& request, Instant now);
  /// Plans the removal of an expired rule, if there is one.
  std::optional<Plan> plan_expiry(Instant now);
  /// Returns when plan_expiry() is due next, if ever.
  std::optional<Instant> next_expiry() const { return expiry_.next(); }
  /// Goes on looking for the enable rules that overlap with the disable rule `pid`, and ends them.
  /// Looks at about `looks` rules at most. Until the search is over, the disable rule is under way,
  /// and what it hits is already blocked, and hidden from requests about it.
  DisableStep end_disabled(PolicyRuleId pid, std::uint32_t looks, Instant now);
  /// Returns when the lifetime of the rule ends; it must exist.
  Instant expires_at(PolicyRuleId pid) const { return rules_[rules_.find(pid)].expires_at; }
  /// Returns the number of changes that are planned and not settled.
  std::size_t changes_under_way() const { return changes_under_way_; }
  /// True if the rule exists and has a change under way.
  bool under_way(PolicyRuleId pid) const {
    const RuleSlot slot = rules_.find(pid);
    return slot != kNoSlot && rules_[slot].under_way;
  }
  /// True if the planned `change` of the rule in `slot` would enable what a disable rule now blocks
  /// (8.8). It must then be settled as kOverridden instead of being carried out.
  bool overridden(RuleSlot slot, const rule::RuleChange& change) const;
  /// Completes the planned `change` of the rule in `slot`, or undoes it, by its `result`. Views in
  /// the reply are valid until the next call.
  Outcome settle(RuleSlot slot, const rule::RuleChange& change, rule::ChangeResult result,
                 Instant now);

  // --- Refusals, for the log ---

  /// Returns why `request` has just been refused with `code`: which right, limit or rule; empty if
  /// the code says it all. Must be called before anything changes.
  std::string reason(const RequestContext& context, const Body& request,
                     NegativeReplyCode code) const;
  /// Returns why a planned change was not carried out. After settle().
  std::string reason(const rule::RuleChange& change, rule::ChangeResult result) const;

  // --- Recovery ---

  /// Continues the identifiers at their positions before a restart. Must be called before the first
  /// rule.
  void resume_ids(const rule::IdPositions& positions);
  /// Returns the current positions of the identifiers.
  rule::IdPositions ids() const { return {pids_.position(), groups_.id_position()}; }
  /// Plans the re-creation of a rule from before a restart, for settle(). Rights and limits of its
  /// owner are not checked. Returns the reason if it cannot be re-created. Must be called for the
  /// rules in the order of their creation.
  std::expected<Plan, std::string> recover(const rule::RuleRecord& record, Lifetime lifetime);

  // --- Figures ---

  /// Returns the number of live rules, including pending ones.
  std::size_t rule_count() const { return rules_.size(); }
  /// Returns the sum of Rule::elements of all rules.
  std::uint64_t element_count() const { return elements_; }
  std::size_t group_count() const { return groups_.size(); }
  std::size_t agent_count() const { return agents_.size(); }
  NatTable::Usage nat_usage() const { return nat_.usage(); }

  /// Returns the rule with that PID if the backend has confirmed it.
  std::optional<rule::RuleRecord> find(PolicyRuleId pid) const;
  /// Calls visit(const rule::RuleRecord&) for every rule that the backend has confirmed.
  template <class Visit>
  void for_each_rule(Visit visit) const {
    rule::RuleRecord record;
    for (RuleSlot slot{0}; slot.value < rules_.slots_end(); ++slot.value) {
      if (rules_[slot].pid == PolicyRuleId{} || rules_[slot].pending) continue;
      describe(slot, record);
      visit(std::as_const(record));
    }
  }
  /// Returns the position of the PIDs; record it when a session opens.
  std::uint64_t id_position() const { return pids_.position(); }
  /// Returns false if a session that opened at `opened` must end, because it could see one PID with
  /// two meanings.
  bool session_young_enough(std::uint64_t opened) const { return pids_.young_enough(opened); }

 private:
  using Code = std::optional<NegativeReplyCode>;

  // engine.cpp
  Verdict decide(const RequestContext& context, const Body& request, Instant now, Plan& plan);

  // engine_reserve.cpp
  Verdict reserve(const RequestContext& context, const PrrRequest& request, Instant now,
                  Plan& plan);
  Code check_reserve(const RequestContext& context, const PrrRequest& request) const;
  Code choose_version(const PrrParameterSet& wanted, IpVersion& version) const;
  PrrReply reserved(RuleSlot slot, Lifetime lifetime) const;

  // engine_enable.cpp
  Verdict enable(const RequestContext& context, const PerRequest& request, Instant now, Plan& plan);
  Verdict enable_reserved(const RequestContext& context, const PeaRequest& request, Instant now,
                          Plan& plan);
  Code check_pair(AgentId agent, const AddressTuple& internal, const AddressTuple& external,
                  Direction direction, const Capabilities& capabilities,
                  const Protocols& protocols) const;
  Code check_reservation(RuleSlot slot, const PeaRequest& request) const;
  /// The disable rules that overlap with an enable rule.
  struct Block {
    bool in_force = false;       ///< at least one that the backend has confirmed
    RuleSlot pending = kNoSlot;  ///< one that it has not
  };
  Block block_on(const AddressTuple& internal, const AddressTuple& external) const;
  /// True if the rule is over and only not removed yet: it has expired, or a disable rule has ended
  /// it and the backend may even have failed to remove it.
  bool has_ended(const Rule& rule, Instant now) const;
  /// Returns the decision about an enable request that disable rules block, if they do.
  std::optional<Verdict> check_block(const RequestContext& context, const AddressTuple& internal,
                                     const AddressTuple& external, Plan& plan) const;
  PerReply enabled(RuleSlot slot, Lifetime lifetime) const;

  // engine_disable.cpp
  Verdict disable(const RequestContext& context, const PdrRequest& request, Instant now,
                  Plan& plan);
  struct Disabling;
  /// Ends one that the disable rule hits, unless another is ending it already. True if this one
  /// does.
  bool end_disabled_rule(RuleSlot slot, PolicyRuleId disable_rule, Disabling& disabling,
                         Instant now);
  /// True if a disable rule that is still looking for them will end the rule.
  bool will_be_ended(const Rule& rule) const {
    return searches_ != 0 && rule.kind == RuleKind::kEnable &&
           block_on(rule.internal, rule.external).in_force;
  }
  /// The rule in `slot` has ended: updates the disable rules that wait for it, if any.
  void note_ended(RuleSlot slot, Outcome& outcome);
  /// Removes what is known of the disable rule if it waits for nothing more. True if so.
  bool complete_if_done(PolicyRuleId disable_rule);
  void file_disable_rule(RuleSlot slot, bool in);
  bool blocks_everything(IpVersion version, std::uint8_t protocol) const;

  // engine_status.cpp
  Verdict report_status(const RequestContext& context, const PrsRequest& request, Instant now,
                        Plan& plan) const;
  Body status_of(RuleSlot slot, Instant now) const;
  Verdict list_rules(const RequestContext& context, Instant now, Plan& plan) const;

  // engine.cpp
  Verdict change_lifetime(const RequestContext& context, const PlcRequest& request, Instant now,
                          Plan& plan);
  Code check_authority(AgentId agent, Transaction transaction) const;
  Code check_group(const RequestContext& context, const std::optional<GroupId>& group) const;
  Code check_resources(AgentId agent) const;
  /// Checks whether there is room for this many further elements.
  Code check_elements(AgentId agent, std::uint32_t elements) const;
  /// Sets the number of elements of the rule.
  void set_elements(RuleSlot slot, std::uint16_t elements);
  std::uint16_t elements_for(const AddressTuple& internal, const AddressTuple& external) const;
  /// Returns what a request about the rule in `slot` must wait for, if anything.
  std::optional<Verdict> wait_for(RuleSlot slot, Plan& plan) const;
  /// Refuses, or makes the request wait if a change under way may remove the cause.
  static Verdict refuse(const RequestContext& context, Plan& plan, NegativeReplyCode code);
  /// Returns the agent whose share of the backend's time the end of the rule takes.
  AgentId pays_for_end(RuleSlot slot) const;
  /// Marks the rule as being removed: its group may end with it.
  void plan_removal(RuleSlot slot);
  Lifetime grant(const RequestContext& context, Lifetime requested) const;
  /// Returns the rule with that PID if it is not pending, or kNoSlot.
  RuleSlot find_visible(PolicyRuleId pid) const;
  RuleSlot create_rule(const RequestContext& context, RuleKind kind,
                       const std::optional<GroupId>& group);
  /// Adds a pending rule of `owner` under `pid`, which was taken at `position`; in no group yet.
  RuleSlot place_rule(PolicyRuleId pid, std::uint64_t position, AgentId owner,
                      TransactionId creating_tid, RuleKind kind);
  /// Plans a change of the rule in `slot`, which is under way from now on.
  Verdict plan_change(RuleSlot slot, rule::RuleChange::Kind kind, Lifetime lifetime,
                      Instant expires_at, Plan& plan) const;
  /// The same for a pending rule that will be added.
  Verdict plan_addition(RuleSlot slot, Lifetime lifetime, Instant now, Plan& plan) const;
  /// Returns the cost of a change of the rule for the backend.
  std::uint32_t weight(RuleSlot slot) const;
  /// The rule has a change under way, until settle().
  void begin_change(RuleSlot slot);
  /// Copies the rule into an empty record.
  void describe(RuleSlot slot, rule::RuleRecord& record) const;
  /// Removes a rule that is only in the table and in no list.
  void destroy_rule(RuleSlot slot);

  // engine_reason.cpp
  std::string rule_text(RuleSlot slot) const;
  std::string blocked_by(const AddressTuple& internal, const AddressTuple& external) const;
  std::string exhausted(AgentId id, std::uint32_t elements) const;
  std::string exhausted(AgentId id, const Body& request) const;
  std::string no_authority(AgentId id, const Body& request) const;
  std::string no_access(AgentId id, const Body& request, PolicyRuleId pid) const;
  std::string about_rule(NegativeReplyCode code, PolicyRuleId pid) const;

  // engine_settle.cpp
  /// Asserts that what is counted in several places agrees.
  void check_counts() const;
  void commit(RuleSlot slot, const rule::RuleChange& change, Instant now, Outcome& outcome);
  void commit_addition(RuleSlot slot, const rule::RuleChange& change, Outcome& outcome);
  void commit_replacement(RuleSlot slot, const rule::RuleChange& change, Outcome& outcome);
  void commit_lifetime(RuleSlot slot, const rule::RuleChange& change, Instant now,
                       Outcome& outcome);
  void commit_removal(RuleSlot slot, Outcome& outcome);
  void roll_back(RuleSlot slot, const rule::RuleChange& change, Instant now, Outcome& outcome);
  void roll_back_addition(RuleSlot slot);

  AddressTuple outside_of(RuleSlot slot) const;
  std::optional<AddressTuple> inside_of(RuleSlot slot) const;

  Options options_;
  Capabilities capabilities_;         ///< of the middlebox as a whole
  Capabilities filter_capabilities_;  ///< for disable rules, which translate nothing
  Protocols translated_;              ///< protocols that enable and reserve rules may have
  AgentTable agents_;
  RuleTable rules_;
  GroupTable groups_;
  NatTable nat_;
  OverlapIndex enable_rules_;   ///< enable rules that the backend has confirmed
  OverlapIndex disable_rules_;  ///< disable rules, pending ones included
  std::uint32_t pending_disable_rules_ = 0;
  /// Number of disable rules that block everything, by IP version and protocol.
  std::unordered_map<std::uint16_t, std::uint32_t> total_blocks_;
  /// Enable rules that are being ended, and the disable rule that does it.
  std::unordered_map<RuleSlot, PolicyRuleId> ended_by_;
  /// A disable rule whose PDR cannot be answered yet.
  struct Disabling {
    bool searching = true;
    std::optional<std::uint32_t>
        next_slot;               ///< to be looked at; nullopt before the index was asked
    std::uint32_t ending = 0;    ///< enable rules that it is ending
    std::uint32_t followed = 0;  ///< disable rules that have it as a follower
    /// Disable rules that hit some of those too. They wait until all that it is ending have ended,
    /// not for its own search: it may wait for a follower in the same way.
    std::vector<PolicyRuleId> followers;
  };
  std::unordered_map<PolicyRuleId, Disabling> disabling_;
  std::uint32_t searches_ = 0;  ///< disable rules that are looking for what they hit
  /// Reserve rules that a PEA under way enables, with the tuple that they had.
  std::unordered_map<RuleSlot, AddressTuple> enabling_;
  std::vector<RuleSlot> overlapping_;  ///< scratch
  std::uint64_t elements_ = 0;         ///< of all rules
  std::size_t changes_under_way_ = 0;  ///< planned and not settled
  IdSequence<> pids_;
  ExpiryQueue expiry_{rules_};
};

}  // namespace simco::policy
