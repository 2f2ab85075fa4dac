// Creation and removal keep owners, groups, quotas and identifiers in step.
#include "middlebox/policy/rule_book.hpp"

#include "middlebox/policy/traffic.hpp"

namespace simco::policy {

bool Quotas::allow_rule(AgentId id) const {
  const Agent& agent = agents_[id];
  return rules_.size() < limits_.rules_max && agent.rule_count < agent.policy->rules_max;
}

bool Quotas::allow_elements(AgentId id, std::uint32_t elements) const {
  const Agent& agent = agents_[id];
  return elements_ + elements <= limits_.elements_max &&
         (agent.policy == nullptr ||
          std::uint64_t{agent.elements} + elements <= agent.policy->elements_max);
}

void Quotas::set_elements(RuleSlot slot, std::uint16_t elements) {
  Rule& rule = rules_[slot];
  Agent& owner = agents_[rule.owner];
  elements_ += elements;
  elements_ -= rule.elements;
  owner.elements += elements;
  owner.elements -= rule.elements;
  rule.elements = elements;
}

// With the same limits and in the same order as allow_rule() and allow_elements().
std::string Quotas::reached(AgentId id, std::uint32_t elements) const {
  const Agent& agent = agents_[id];
  const auto text = [](const std::string& limit, std::uint32_t value) {
    return limit + " (" + std::to_string(value) + ") is reached";
  };
  const std::string of_agent = " of '" + std::string(agent.name) + "'";
  if (rules_.size() >= limits_.rules_max) return text("--max-rules", limits_.rules_max);
  if (agent.policy != nullptr && agent.rule_count >= agent.policy->rules_max) {
    return text("'max-rules'" + of_agent, agent.policy->rules_max);
  }
  if (elements_ + elements > limits_.elements_max || agent.policy == nullptr) {
    return text("--max-elements", limits_.elements_max);
  }
  return text("'max-elements'" + of_agent, agent.policy->elements_max);
}

RuleBook::RuleBook(const EngineOptions& options)
    : protocols(options.protocols),
      translated(options.protocols),
      capabilities(options.backend),
      filter_capabilities(options.backend),
      nat(options.nat),
      disable_rules(rules, expiry, options.disable_scan_max),
      quotas({options.rules_max, options.elements_max}, rules, agents) {
  capabilities.disable_rules = filter_capabilities.disable_rules = true;
  if (!nat.translates()) return;
  capabilities.nat = capabilities.port_translation = true;
  capabilities.twice_nat = nat.mode() == Mode::kTwiceNat;
  // A binding stands for a single host: on its own side, a NAT has no address to give to many.
  capabilities.internal_wildcards = false;
  if (capabilities.twice_nat) capabilities.external_wildcards = false;
  capabilities.internal_versions &= nat.versions();
  capabilities.external_versions &= nat.versions();
  translated &= translatable_protocols();
}

bool RuleBook::may_see(AgentId agent, AgentId owner) const {
  if (agent == owner) return true;
  const auto* policy = agents[agent].policy;
  return policy != nullptr && policy->sees(agents[owner].name);
}

bool RuleBook::may_change(AgentId agent, AgentId owner) const {
  if (agent == owner) return true;
  const auto* policy = agents[agent].policy;
  return policy != nullptr && policy->changes(agents[owner].name);
}

RuleSlot RuleBook::find_visible(PolicyRuleId pid) const {
  const RuleSlot slot = rules.find(pid);
  return slot == kNoSlot || rules[slot].pending ? kNoSlot : slot;
}

std::uint16_t RuleBook::elements_for(const AddressTuple& internal,
                                     const AddressTuple& external) const {
  const unsigned translations = nat.mode() == Mode::kTwiceNat ? 2 : nat.translates() ? 1 : 0;
  return elements_of(internal, external, translations);
}

RuleSlot RuleBook::create(const RequestContext& context, RuleKind kind,
                          const std::optional<GroupId>& group) {
  const auto taken =
      pids.take([this](std::uint32_t id) { return rules.find(PolicyRuleId{id}) != kNoSlot; });
  const RuleSlot slot =
      place(PolicyRuleId{taken.id}, taken.position, context.agent, context.tid, kind);
  Rule& rule = rules[slot];
  if (kind == RuleKind::kDisable) return slot;  // figure 38: in no group
  if (group) {
    rule.group = *group;
    groups.join(rule.group);
  } else {
    rule.group = groups.create(context.agent);
    agents.hold(context.agent);
  }
  return slot;
}

RuleSlot RuleBook::place(PolicyRuleId pid, std::uint64_t position, AgentId owner,
                         TransactionId creating_tid, RuleKind kind) {
  const RuleSlot slot = rules.insert(pid);
  Rule& rule = rules[slot];
  rule.pid_epoch = static_cast<std::uint32_t>(position >> 32);
  rule.owner = owner;
  rule.creating_tid = creating_tid;
  rule.kind = kind;
  begin_change(slot);
  rule.pending = true;
  agents.hold(owner);
  ++agents[owner].rule_count;
  return slot;
}

void RuleBook::destroy(RuleSlot slot) {
  const Rule& rule = rules[slot];
  if (rule.under_way) --changes_under_way;  // its plan has failed
  if (rule.kind != RuleKind::kDisable) {
    if (const auto owner = groups.leave(rule.group)) agents.release(*owner);
  }
  quotas.set_elements(slot, 0);
  --agents[rule.owner].rule_count;
  agents.release(rule.owner);
  pids.give_back((std::uint64_t{rule.pid_epoch} << 32) | rule.pid.value);
  rules.erase(slot);
}

void RuleBook::begin_change(RuleSlot slot) {
  SIMCO_ASSERT(!rules[slot].under_way);
  rules[slot].under_way = true;
  ++changes_under_way;
}

void RuleBook::end_change(RuleSlot slot) {
  SIMCO_ASSERT(rules[slot].under_way);
  rules[slot].under_way = false;
  --changes_under_way;
}

void RuleBook::check_counts() const {
  // Each rule waits for its end, for the outcome of its change, or, if it is a disable rule, for
  // the end of its search.
  SIMCO_ASSERT(rules.size() == expiry.size() + changes_under_way + disable_rules.searches());
  // Each rule except disable rules has its NAT bindings, which no other rule has.
  SIMCO_ASSERT(!nat.translates() || rules.size() == nat.holders() + disable_rules.size());
  SIMCO_ASSERT(rules.size() != 0 || (quotas.elements() == 0 && groups.size() == 0));
  disable_rules.check_counts();
}

}  // namespace simco::policy
