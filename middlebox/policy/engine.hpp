// The semantics of requests (RFC 4540 section 8): policy rules, their groups, owners, addresses and
// lifetimes. No I/O, no clock, no logging.
//
// The kernel answers later, so a change takes two steps. plan() makes all checks, allocates what
// the rule needs and returns the change as a value; settle() follows when the change has been
// carried out or has failed. In between, the rule is visible only to conflict checks.
//
// The changes of a rule must be settled in the order in which they were planned. Those of different
// rules may overtake each other: if a disable rule comes into force before an enable rule that was
// planned earlier, overridden() is true, and the enable rule is settled without being carried out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/policy/plan.hpp"
#include "middlebox/policy/rule_book.hpp"
#include "middlebox/policy/rule_status.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/messages.hpp"

namespace simco::policy {

/// All policy rules and the transactions on them. Not thread-safe.
class PolicyEngine {
 public:
  using Options = EngineOptions;

  explicit PolicyEngine(const Options& options) : book_(options) {}
  PolicyEngine(const PolicyEngine&) = delete;
  PolicyEngine& operator=(const PolicyEngine&) = delete;

  // --- Agents ---

  /// Applies a configuration; rules stay. `directory` must exist until the next call or the end of
  /// the engine. Before the first call, no agent may do anything.
  void apply(const AgentDirectory& directory) { book_.agents.apply(directory); }
  /// An agent begins a session under `name`; end it with release(). The returned number is valid
  /// until then, and as long as the agent owns rules.
  AgentId acquire(std::string_view name) { return book_.agents.acquire(name); }
  void release(AgentId agent) { book_.agents.release(agent); }
  /// As acquire(), for an agent that has a session or rules; end it with release() too.
  void hold(AgentId agent) { book_.agents.hold(agent); }
  /// Returns the agent called `name`, if it has a session or rules.
  std::optional<AgentId> find(std::string_view name) const { return book_.agents.find(name); }
  /// Returns the name of an agent; valid as long as it has a session or rules.
  std::string_view name(AgentId agent) const { return book_.agents[agent].name; }
  /// Returns the agent's rights; nullptr if it is no longer configured.
  const AgentPolicy* policy(AgentId agent) const { return book_.agents[agent].policy; }
  /// Returns the capabilities that are reported to `agent` (4.3.3).
  Capabilities capabilities(AgentId agent) const;
  /// True if `agent` may see rules of `owner`.
  bool may_see(AgentId agent, AgentId owner) const { return book_.may_see(agent, owner); }
  /// True if `agent` may change rules of `owner`.
  bool may_change(AgentId agent, AgentId owner) const { return book_.may_change(agent, owner); }
  /// Returns the agents that may see rules of others.
  const std::vector<AgentId>& watchers() const { return book_.agents.watchers(); }

  // --- Requests ---

  /// Decides a policy rule request.
  Plan plan(const RequestContext& context, const Body& request, Instant now);
  /// Plans the removal of an expired rule, if there is one.
  std::optional<Plan> plan_expiry(Instant now);
  /// Returns when plan_expiry() is due next, if ever.
  std::optional<Instant> next_expiry() const { return book_.expiry.next(); }
  /// Goes on looking for the enable rules that overlap with the disable rule `pid`, and ends them.
  /// Looks at about `looks` rules at most. Until the search is over, the disable rule is under way,
  /// and the rules that it overlaps are already blocked, and hidden from requests about them.
  DisableStep end_disabled(PolicyRuleId pid, std::uint32_t looks, Instant now);
  /// Returns when the lifetime of the rule ends; it must exist.
  Instant expires_at(PolicyRuleId pid) const {
    return book_.rules[book_.rules.find(pid)].expires_at;
  }
  /// Returns the number of changes that are planned and not settled.
  std::size_t changes_under_way() const { return book_.changes_under_way; }
  /// True if the rule exists and has a change under way.
  bool under_way(PolicyRuleId pid) const {
    const RuleSlot slot = book_.rules.find(pid);
    return slot != kNoSlot && book_.rules[slot].under_way;
  }
  /// True if the planned `change` of the rule in `slot` would enable traffic that a disable rule
  /// now blocks (8.8). It must then be settled as kOverridden instead of being carried out.
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
  rule::IdPositions ids() const { return book_.ids(); }
  /// Plans the re-creation of a rule from before a restart, for settle(). Rights and limits of its
  /// owner are not checked. Returns the reason if it cannot be re-created. Must be called for the
  /// rules in the order of their creation.
  std::expected<Plan, std::string> recover(const rule::RuleRecord& record, Lifetime lifetime);

  // --- Rules of another middlebox ---

  /// Until end_following(), the rules are another middlebox's. Disable rules end nothing: which
  /// rules end for one is that middlebox's decision, and the disable rule may yet be refused.
  void begin_following() { book_.disable_rules.hold_searches(true); }
  /// Ends what disable rules hit.
  void end_following(Instant now);
  /// Plans a change towards the rule that another middlebox has under `pid`: `rule` with
  /// `lifetime`, or none if `rule` is nullptr. Rights and limits of its owner are not checked.
  /// Verdict::kReplied: it is so already; kWaitForRule: a change of it is under way. If the rule
  /// that is here differs in more than its lifetime, the change is its removal, and another call
  /// after settle() creates it anew. Returns the reason if it cannot be created.
  std::expected<Plan, std::string> follow(PolicyRuleId pid, const rule::RuleRecord* rule,
                                          Lifetime lifetime, Instant now);
  /// The other middlebox has given out identifiers up to these positions.
  void follow_ids(const rule::IdPositions& positions);

  // --- Figures ---

  /// Returns the number of live rules, including pending ones.
  std::size_t rule_count() const { return book_.rules.size(); }
  /// Returns the sum of Rule::elements of all rules.
  std::uint64_t element_count() const { return book_.quotas.elements(); }
  std::size_t group_count() const { return book_.groups.size(); }
  std::size_t agent_count() const { return book_.agents.size(); }
  NatTable::Usage nat_usage() const { return book_.nat.usage(); }

  /// Returns the rule with that PID if the backend has confirmed it.
  std::optional<rule::RuleRecord> find(PolicyRuleId pid) const;
  /// Calls visit(const rule::RuleRecord&) for every rule that the backend has confirmed.
  template <class Visit>
  void for_each_rule(Visit visit) const {
    rule::RuleRecord record;
    for (RuleSlot slot{0}; slot.value < book_.rules.slots_end(); ++slot.value) {
      if (book_.rules[slot].pid == PolicyRuleId{} || book_.rules[slot].pending) continue;
      describe(book_, slot, record);
      visit(std::as_const(record));
    }
  }
  /// Returns the position of the PIDs; record it when a session opens.
  std::uint64_t id_position() const { return book_.pids.position(); }
  /// Returns false if a session that opened at `opened` must end, because it could see a PID with
  /// two meanings.
  bool session_young_enough(std::uint64_t opened) const { return book_.pids.young_enough(opened); }

 private:
  RuleBook book_;
};

}  // namespace simco::policy
