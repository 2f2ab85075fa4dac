// What requests mean (RFC 4540 section 8): policy rules, their groups, owners, addresses and
// lifetimes. No I/O, no clock, no logging.
//
// The kernel answers later, so a change takes two steps. plan() makes all checks, takes what the
// rule needs and describes the change for the backend; commit() or roll_back() follows when the
// backend has spoken. In between the rule is visible to conflict checks and to nobody else.
//
// Changes must be committed or rolled back in the order in which they were planned: a disable rule
// that is committed relies on every enable rule that was planned before it being decided.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "middlebox/backend/rule_change.hpp"
#include "middlebox/policy/agent_table.hpp"
#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/checks.hpp"
#include "middlebox/policy/expiry_queue.hpp"
#include "middlebox/policy/group_table.hpp"
#include "middlebox/policy/id_sequence.hpp"
#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/nat.hpp"
#include "middlebox/policy/overlap_index.hpp"
#include "middlebox/policy/rule_record.hpp"
#include "middlebox/policy/rule_table.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/messages.hpp"

namespace simco::policy {

/// Who asks for something.
struct Asker {
  AgentId agent;
  TransactionId tid;
  /// Longest lifetime that its session was told of (8.3.1), seconds.
  std::uint32_t lifetime_max_s = 0xFFFF'FFFF;
  /// Every change that came before is decided. Otherwise it is not refused for what one of them
  /// holds or may yet give back: it has to wait.
  bool settled = true;
};

/// A change that is with the backend.
struct PlannedChange {
  RuleSlot slot;
  backend::RuleChange::Kind kind = backend::RuleChange::Kind::kAdd;
  Lifetime lifetime;  ///< granted; 0 with kRemove
  Instant deadline;   ///< when that lifetime ends
};

/// News about a rule for everybody who may access it, except the one who caused it (8.9).
struct RuleEvent {
  PolicyRuleId pid;
  Lifetime lifetime;  ///< 0: the rule is gone
  AgentId owner;
  TransactionId created_by;
  PolicyRuleId ended_by;   ///< disable rule that ended it; 0: none did
  std::uint32_t ends = 0;  ///< enable rules that this disable rule is now ending
};

class PolicyEngine {
 public:
  struct Options {
    Capabilities backend;  ///< what can be enforced; lifetime_max_s bounds what is granted
    Protocols protocols = all_protocols();  ///< that can be enforced
    NatTable::Options nat;
    std::uint32_t rules_max = kRulesMaxDefault;
    std::uint32_t elements_max = kElementsMaxDefault;
  };
  /// All but 255, which IANA reserves.
  static Protocols all_protocols() { return Protocols().set().reset(255); }

  explicit PolicyEngine(const Options& options);
  PolicyEngine(const PolicyEngine&) = delete;
  PolicyEngine& operator=(const PolicyEngine&) = delete;

  // --- Agents ---

  /// From now on `directory` says who may do what; rules stay. It must outlive the engine or the
  /// next call. Until the first call nobody may do anything.
  void apply(const AgentDirectory& directory) { agents_.apply(directory); }
  /// An agent begins a session under `name`; end it with release(). The result stands for the agent
  /// until then, and as long as it owns rules.
  AgentId acquire(std::string_view name) { return agents_.acquire(name); }
  void release(AgentId agent) { agents_.release(agent); }
  /// The agent called `name`, where it has a session or rules.
  std::optional<AgentId> find(std::string_view name) const { return agents_.find(name); }
  /// Valid until the next acquire().
  std::string_view name(AgentId agent) const { return agents_[agent].name; }
  /// What the agent may do; nullptr: nothing any more.
  const AgentPolicy* policy(AgentId agent) const { return agents_[agent].policy; }
  /// What the middlebox is able to do for `agent`, as it is told (4.3.3).
  Capabilities capabilities(AgentId agent) const;
  /// May `agent` see rules of `owner`?
  bool may_see(AgentId agent, AgentId owner) const;
  /// May `agent` change rules of `owner`?
  bool may_change(AgentId agent, AgentId owner) const;
  /// Agents that may see rules of others.
  const std::vector<AgentId>& watchers() const { return agents_.watchers(); }

  // --- Requests ---

  enum class Verdict : std::uint8_t {
    kReplied,         ///< `reply` is the answer
    kPlanned,         ///< `change` is to be carried out, then committed or rolled back
    kWaitForRule,     ///< the rule in `change.slot` has a change under way: ask again after that
    kWaitForChanges,  ///< depends on changes that came before: ask again when they are decided
  };
  /// Decides a policy rule request. Views in `reply` are valid until the next call.
  Verdict plan(const Asker& asker, const Body& request, Instant now, Body& reply,
               PlannedChange& change);

  /// The rule in `slot`, which has been planned to change at some time, has a change under way.
  bool under_way(RuleSlot slot) const { return rules_[slot].under_way; }

  /// The change as the backend is to see it.
  backend::RuleChange describe(const PlannedChange& change) const;

  /// Who the rule of a planned change belongs to.
  AgentId owner(const PlannedChange& change) const { return rules_[change.slot].owner; }
  GroupId group(const PlannedChange& change) const { return rules_[change.slot].group; }
  /// Whether the change puts a disable rule in force.
  bool is_disabling(const PlannedChange& change) const {
    return change.kind == backend::RuleChange::Kind::kAdd &&
           rules_[change.slot].kind == RuleKind::kDisable;
  }
  /// How much the change asks of the backend.
  std::uint32_t weight(const PlannedChange& change) const;

  /// The backend has carried out `change`: fills in the answer and the event. A disable rule ends
  /// enable rules: they are due for plan_expiry() at once.
  void commit(const PlannedChange& change, Instant now, Body& reply, RuleEvent& event);
  /// The backend has not: undoes the plan and fills in the answer. Answers the disable rule that
  /// waits for the end of this rule, or 0.
  PolicyRuleId roll_back(const PlannedChange& change, backend::ChangeResult why, Instant now,
                         Body& reply);

  /// When plan_expiry() is due next, if ever.
  std::optional<Instant> next_expiry() const { return expiry_.next(); }
  /// Plans the removal of rules whose lifetime is over, at most kExpiryBatchMax.
  void plan_expiry(Instant now, std::vector<PlannedChange>& changes);

  // --- Rules that outlive the process ---

  /// The rule as it is to be kept: as it is now where nothing is under way, and as it was before
  /// that where it is being replaced. Nothing where there is no such rule; one that is being added
  /// is described as it will be.
  std::optional<RuleRecord> record(PolicyRuleId pid) const;
  /// When the rule's lifetime ends, as of the last committed change of it. The rule is there.
  Instant deadline(PolicyRuleId pid) const { return rules_[rules_.find(pid)].deadline; }
  /// Where the identifiers stand, to be kept with the rules.
  IdPositions id_positions() const { return {pids_.position(), groups_.id_position()}; }
  /// Identifiers go on where an earlier life stood. Before the first rule.
  void resume_ids(const IdPositions& positions);
  /// Plans that a rule of an earlier life is there again until `deadline`, for commit() or
  /// roll_back(); its owner needs no permission for that, and it counts against no limit. Answers
  /// the reason where it cannot be. To be called for the rules in the order of their creation.
  std::optional<std::string> restore(const RuleRecord& record, Lifetime lifetime, Instant deadline,
                                     PlannedChange& change);

  // --- Figures ---

  /// Live rules, those that are being created included.
  std::size_t rule_count() const { return rules_.size(); }
  /// What they take where they are enforced (Rule::elements).
  std::uint64_t element_count() const { return elements_; }
  std::size_t group_count() const { return groups_.size(); }
  std::size_t agent_count() const { return agents_.size(); }
  NatTable::Usage nat_usage() const { return nat_.usage(); }

  /// Where the PIDs stand, to be taken down when a session opens.
  std::uint64_t id_position() const { return pids_.position(); }
  /// False when a session that opened at `opened` must end, lest it sees a PID mean two rules.
  bool session_young_enough(std::uint64_t opened) const { return pids_.young_enough(opened); }

 private:
  using Code = std::optional<NegativeReplyCode>;

  // engine_reserve.cpp
  Verdict reserve(const Asker& asker, const PrrRequest& request, Instant now, Body& reply,
                  PlannedChange& change);
  Code check_reserve(const Asker& asker, const PrrRequest& request) const;
  Code choose_version(const PrrParameterSet& wanted, IpVersion& version) const;
  PrrReply reserved(RuleSlot slot, Lifetime lifetime) const;

  // engine_enable.cpp
  Verdict enable(const Asker& asker, const PerRequest& request, Instant now, Body& reply,
                 PlannedChange& change);
  Verdict enable_reserved(const Asker& asker, const PeaRequest& request, Instant now, Body& reply,
                          PlannedChange& change);
  Code check_pair(AgentId agent, const AddressTuple& internal, const AddressTuple& external,
                  Direction direction, const Capabilities& capabilities,
                  const Protocols& protocols) const;
  Code check_reservation(RuleSlot slot, const PeaRequest& request) const;
  bool is_disabled(const AddressTuple& internal, const AddressTuple& external) const;
  PerReply enabled(RuleSlot slot, Lifetime lifetime) const;

  // engine_disable.cpp
  Verdict disable(const Asker& asker, const PdrRequest& request, Instant now, Body& reply,
                  PlannedChange& change);
  /// Ends every enable rule that overlaps with the disable rule in `slot`; answers how many.
  std::uint32_t end_disabled_rules(RuleSlot slot, Instant now);
  void file_disable_rule(RuleSlot slot, bool in);
  bool blocks_everything(IpVersion version, std::uint8_t protocol) const;

  // engine_status.cpp
  Verdict report_status(const Asker& asker, const PrsRequest& request, Instant now, Body& reply,
                        PlannedChange& change) const;
  Body status_of(RuleSlot slot, Instant now) const;
  Verdict list_rules(const Asker& asker, Instant now, Body& reply) const;

  // engine.cpp
  Verdict change_lifetime(const Asker& asker, const PlcRequest& request, Instant now, Body& reply,
                          PlannedChange& change);
  Code check_authority(AgentId agent, Transaction transaction) const;
  Code check_group(const Asker& asker, const std::optional<GroupId>& group) const;
  Code check_resources(AgentId agent) const;
  /// Is there room for so many elements more?
  Code check_elements(AgentId agent, std::uint32_t elements) const;
  /// From now on the rule takes so many elements.
  void set_elements(RuleSlot slot, std::uint16_t elements);
  std::uint16_t elements_for(const AddressTuple& internal, const AddressTuple& external) const;
  /// What a request about the rule in `slot` has to wait for, if anything.
  std::optional<Verdict> wait_for(const Asker& asker, RuleSlot slot, PlannedChange& change) const;
  /// Refuses, or has the asker wait where the cause may go with a change that is under way.
  static Verdict refuse(const Asker& asker, Body& reply, NegativeReplyCode code);
  /// The rule is on its way out: nothing may rely on its group any more.
  void plan_removal(RuleSlot slot);
  Lifetime grant(const Asker& asker, Lifetime requested) const;
  /// A rule of that PID that everybody who may can see, or kNoSlot.
  RuleSlot find_visible(PolicyRuleId pid) const;
  RuleSlot create_rule(const Asker& asker, RuleKind kind, const std::optional<GroupId>& group);
  /// An unborn rule of `owner` under `pid`, which was taken at `position`; in no group yet.
  RuleSlot place_rule(PolicyRuleId pid, std::uint64_t position, AgentId owner,
                      TransactionId created_by, RuleKind kind);
  /// Plans that the unborn rule in `slot` is added.
  Verdict plan_addition(RuleSlot slot, Lifetime lifetime, Instant now, PlannedChange& change);
  /// Ends a rule that is in no list but the table.
  void destroy_rule(RuleSlot slot);
  void commit_addition(const PlannedChange& change, Instant now, Body& reply, RuleEvent& event);
  void commit_replacement(const PlannedChange& change, Body& reply);
  void commit_lifetime(const PlannedChange& change, Instant now);
  void commit_removal(const PlannedChange& change);
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
  OverlapIndex disable_rules_;  ///< disable rules, unborn ones included
  std::uint32_t unborn_disable_rules_ = 0;
  /// Disable rules that leave nothing out, by IP version and protocol.
  std::unordered_map<std::uint16_t, std::uint32_t> total_blocks_;
  /// Enable rules that are being ended, and the disable rule that does it.
  std::unordered_map<RuleSlot, PolicyRuleId> ended_by_;
  /// Reserve rules that a PEA under way is to enable, with the tuple that they had.
  std::unordered_map<RuleSlot, AddressTuple> enabling_;
  std::vector<RuleSlot> overlapping_;  ///< scratch
  std::uint64_t elements_ = 0;         ///< of all rules
  IdSequence<> pids_;
  ExpiryQueue expiry_{rules_};
};

}  // namespace simco::policy
