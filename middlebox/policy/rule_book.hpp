// The state that all transactions share: rules with their owners, groups, addresses, lifetimes and
// limits. The functions of planned_change.hpp change it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/checks.hpp"
#include "middlebox/policy/disable_rules.hpp"
#include "middlebox/policy/expiry_queue.hpp"
#include "middlebox/policy/group_table.hpp"
#include "middlebox/policy/id_map.hpp"
#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/nat.hpp"
#include "middlebox/policy/plan.hpp"
#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

/// The maximum numbers of rules and kernel elements (Rule::elements), in all and of an agent. Not
/// thread-safe.
class Quotas {
 public:
  struct Limits {
    std::uint32_t rules_max = kRulesMaxDefault;
    std::uint32_t elements_max = kElementsMaxDefault;
  };
  Quotas(const Limits& limits, RuleTable& rules, AgentTable& agents)
      : limits_(limits), rules_(rules), agents_(agents) {}

  /// True if the agent, which must be configured, may have a further rule.
  bool allow_rule(AgentId id) const;
  /// True if the agent may have so many further elements.
  bool allow_elements(AgentId id, std::uint32_t elements) const;
  /// Sets the number of elements of the rule.
  void set_elements(RuleSlot slot, std::uint16_t elements);
  /// Returns the sum of the elements of all rules.
  std::uint64_t elements() const { return elements_; }
  /// Returns the limit that keeps the agent from having a further rule with so many elements, for
  /// the log.
  std::string reached(AgentId id, std::uint32_t elements) const;

 private:
  Limits limits_;
  RuleTable& rules_;
  AgentTable& agents_;
  std::uint64_t elements_ = 0;
};

/// All but 255, which IANA reserves.
inline Protocols all_protocols() { return Protocols().set().reset(255); }

struct EngineOptions {
  Capabilities backend;  ///< abilities of the backend; lifetime_max_s bounds granted lifetimes
  Protocols protocols = all_protocols();  ///< that can be enforced
  NatTable::Options nat;
  std::uint32_t rules_max = kRulesMaxDefault;
  std::uint32_t elements_max = kElementsMaxDefault;
  /// Entries of the index that a disable rule scans for rules that it overlaps, before it scans all
  /// rules.
  std::uint32_t disable_scan_max = kDisableScanMax;
};

/// All policy rules. Its parts are open to the classes that carry out transactions; functions here
/// keep several parts in step. Not thread-safe.
class RuleBook {
 public:
  explicit RuleBook(const EngineOptions& options);
  RuleBook(const RuleBook&) = delete;
  RuleBook& operator=(const RuleBook&) = delete;

  /// True if `agent` may see, or change, rules of `owner`.
  bool may_see(AgentId agent, AgentId owner) const;
  bool may_change(AgentId agent, AgentId owner) const;
  /// Returns the rule with that PID if it is not pending, or kNoSlot.
  RuleSlot find_visible(PolicyRuleId pid) const;
  /// Returns the current positions of the identifiers.
  rule::IdPositions ids() const { return {pids.position(), groups.id_position()}; }
  /// Returns the number of elements that an enable rule with these tuples takes.
  std::uint16_t elements_for(const AddressTuple& internal, const AddressTuple& external) const;

  /// Adds a pending rule of the agent with a new PID, in `group` or in a new group.
  RuleSlot create(const RequestContext& context, RuleKind kind,
                  const std::optional<GroupId>& group);
  /// Adds a pending rule of `owner` under `pid`, which was taken at `position`; in no group yet.
  RuleSlot place(PolicyRuleId pid, std::uint64_t position, AgentId owner,
                 TransactionId creating_tid, RuleKind kind);
  /// Removes a rule that is only in the table and in no list.
  void destroy(RuleSlot slot);
  /// The rule has a change under way, until end_change().
  void begin_change(RuleSlot slot);
  void end_change(RuleSlot slot);
  /// Asserts that redundant counts agree.
  void check_counts() const;

  Protocols protocols;               ///< that can be enforced
  Protocols translated;              ///< protocols that enable and reserve rules may have
  Capabilities capabilities;         ///< of the middlebox as a whole
  Capabilities filter_capabilities;  ///< for disable rules, which translate nothing
  AgentTable agents;
  RuleTable rules;
  GroupTable groups;
  NatTable nat;
  IdSequence<> pids;
  ExpiryQueue expiry{rules};
  DisableRules disable_rules;
  Quotas quotas;
  /// Reserve rules that a PEA under way enables, with the tuple that they had.
  std::unordered_map<RuleSlot, AddressTuple> enabling;
  std::size_t changes_under_way = 0;  ///< planned and not settled
};

}  // namespace simco::policy
