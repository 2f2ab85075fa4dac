// Dispatches requests, changes lifetimes (PLC, RFC 4540 section 8.5), ends expired rules, and has
// what the transactions share. The other engine_*.cpp files have one kind of transaction each.
#include "middlebox/policy/engine.hpp"

#include <algorithm>
#include <variant>

#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/replies.hpp"
#include "middlebox/policy/traffic.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

using rule::RuleChange;
using rule::RuleRecord;

PolicyEngine::PolicyEngine(const Options& options)
    : options_(options),
      capabilities_(options.backend),
      filter_capabilities_(options.backend),
      translated_(options.protocols),
      nat_(options.nat) {
  capabilities_.disable_rules = filter_capabilities_.disable_rules = true;
  if (!nat_.translates()) return;
  capabilities_.nat = capabilities_.port_translation = true;
  capabilities_.twice_nat = nat_.mode() == Mode::kTwiceNat;
  // A binding stands for one host: on its own side, a NAT has no address to give to many.
  capabilities_.internal_wildcards = false;
  if (capabilities_.twice_nat) capabilities_.external_wildcards = false;
  capabilities_.internal_versions &= nat_.versions();
  capabilities_.external_versions &= nat_.versions();
  translated_ &= translatable_protocols();
}

// --- Agents ------------------------------------------------------------------------------------

Capabilities PolicyEngine::capabilities(AgentId agent) const {
  const auto* policy = agents_[agent].policy;
  return policy == nullptr ? capabilities_ : policy->capabilities(capabilities_);
}

bool PolicyEngine::may_see(AgentId agent, AgentId owner) const {
  if (agent == owner) return true;
  const auto* policy = agents_[agent].policy;
  return policy != nullptr && policy->sees(agents_[owner].name);
}

bool PolicyEngine::may_change(AgentId agent, AgentId owner) const {
  if (agent == owner) return true;
  const auto* policy = agents_[agent].policy;
  return policy != nullptr && policy->changes(agents_[owner].name);
}

// --- Deciding ----------------------------------------------------------------------------------

Plan PolicyEngine::plan(const RequestContext& context, const Body& request, Instant now) {
  Plan plan;
  plan.charged_to = context.agent;
  plan.verdict = decide(context, request, now, plan);
  plan.ids = ids();
  return plan;
}

Verdict PolicyEngine::decide(const RequestContext& context, const Body& request, Instant now,
                             Plan& plan) {
  const auto transaction = transaction_of(request);
  if (!transaction) return policy::refuse(plan, NegativeReplyCode::kTransactionNotSupported);
  plan.transaction = *transaction;
  if (const auto code = check_authority(context.agent, *transaction)) {
    return policy::refuse(plan, *code);
  }
  switch (*transaction) {
    case Transaction::kPrr: return reserve(context, std::get<PrrRequest>(request), now, plan);
    case Transaction::kPer: return enable(context, std::get<PerRequest>(request), now, plan);
    case Transaction::kPea:
      return enable_reserved(context, std::get<PeaRequest>(request), now, plan);
    case Transaction::kPdr: return disable(context, std::get<PdrRequest>(request), now, plan);
    case Transaction::kPlc:
      return change_lifetime(context, std::get<PlcRequest>(request), now, plan);
    case Transaction::kPrs: return report_status(context, std::get<PrsRequest>(request), now, plan);
    case Transaction::kPrl: return list_rules(context, now, plan);
  }
  return policy::refuse(plan, NegativeReplyCode::kTransactionNotSupported);
}

PolicyEngine::Code PolicyEngine::check_authority(AgentId agent, Transaction transaction) const {
  const auto* policy = agents_[agent].policy;
  if (policy == nullptr || !policy->allows(transaction)) {
    return NegativeReplyCode::kAgentNotAuthorized;
  }
  return std::nullopt;
}

Verdict PolicyEngine::refuse(const RequestContext& context, Plan& plan, NegativeReplyCode code) {
  using enum NegativeReplyCode;
  switch (code) {
    case kNoResources:
    case kNoSuchGroup:
    case kAddressSpaceNotAvailable:
    case kLackOfAddresses:
    case kLackOfPorts:
    case kParityMismatch:
    case kConflict:
      if (!context.settled) return Verdict::kWaitForChanges;
      break;
    default: break;
  }
  return policy::refuse(plan, code);
}

PolicyEngine::Code PolicyEngine::check_group(const RequestContext& context,
                                             const std::optional<GroupId>& group) const {
  if (!group) return std::nullopt;
  const auto owner = groups_.owner(*group);
  // It may be gone when the changes of its members are decided.
  const bool may_end =
      !groups_.will_stay(*group) || pending_disable_rules_ != 0 || !disabling_.empty();
  if (!owner || (!context.settled && may_end)) return NegativeReplyCode::kNoSuchGroup;
  // RFC 5189 2.1.5: the rules of a group have one owner, and a new rule is its agent's.
  if (*owner != context.agent) return NegativeReplyCode::kGroupAccessDenied;
  return std::nullopt;
}

PolicyEngine::Code PolicyEngine::check_resources(AgentId id) const {
  const Agent& agent = agents_[id];
  const bool full =
      rules_.size() >= options_.rules_max || agent.rule_count >= agent.policy->rules_max;
  return full ? Code(NegativeReplyCode::kNoResources) : std::nullopt;
}

PolicyEngine::Code PolicyEngine::check_elements(AgentId id, std::uint32_t elements) const {
  const Agent& agent = agents_[id];
  const bool full = elements_ + elements > options_.elements_max ||
                    (agent.policy != nullptr &&
                     std::uint64_t{agent.elements} + elements > agent.policy->elements_max);
  return full ? Code(NegativeReplyCode::kNoResources) : std::nullopt;
}

void PolicyEngine::set_elements(RuleSlot slot, std::uint16_t elements) {
  Rule& rule = rules_[slot];
  Agent& owner = agents_[rule.owner];
  elements_ += elements;
  elements_ -= rule.elements;
  owner.elements += elements;
  owner.elements -= rule.elements;
  rule.elements = elements;
}

std::uint16_t PolicyEngine::elements_for(const AddressTuple& internal,
                                         const AddressTuple& external) const {
  const unsigned translations = nat_.mode() == Mode::kTwiceNat ? 2 : nat_.translates() ? 1 : 0;
  return elements_of(internal, external, translations);
}

Lifetime PolicyEngine::grant(const RequestContext& context, Lifetime requested) const {
  const AgentPolicy* policy = agents_[context.agent].policy;
  const std::uint32_t now_allowed =
      policy == nullptr ? capabilities_.lifetime_max_s
                        : std::min(capabilities_.lifetime_max_s, policy->lifetime_max_s);
  return {std::min({requested.seconds, now_allowed, context.lifetime_max_s})};
}

RuleSlot PolicyEngine::create_rule(const RequestContext& context, RuleKind kind,
                                   const std::optional<GroupId>& group) {
  const auto taken =
      pids_.take([this](std::uint32_t id) { return rules_.find(PolicyRuleId{id}) != kNoSlot; });
  const RuleSlot slot =
      place_rule(PolicyRuleId{taken.id}, taken.position, context.agent, context.tid, kind);
  Rule& rule = rules_[slot];
  if (kind == RuleKind::kDisable) return slot;  // figure 38: in no group
  if (group) {
    rule.group = *group;
    groups_.join(rule.group);
  } else {
    rule.group = groups_.create(context.agent);
    agents_.hold(context.agent);
  }
  return slot;
}

RuleSlot PolicyEngine::place_rule(PolicyRuleId pid, std::uint64_t position, AgentId owner,
                                  TransactionId creating_tid, RuleKind kind) {
  const RuleSlot slot = rules_.insert(pid);
  Rule& rule = rules_[slot];
  rule.pid_epoch = static_cast<std::uint32_t>(position >> 32);
  rule.owner = owner;
  rule.creating_tid = creating_tid;
  rule.kind = kind;
  begin_change(slot);
  rule.pending = true;
  agents_.hold(owner);
  ++agents_[owner].rule_count;
  return slot;
}

void PolicyEngine::begin_change(RuleSlot slot) {
  SIMCO_ASSERT(!rules_[slot].under_way);
  rules_[slot].under_way = true;
  ++changes_under_way_;
}

void PolicyEngine::destroy_rule(RuleSlot slot) {
  const Rule& rule = rules_[slot];
  if (rule.under_way) --changes_under_way_;  // its plan has failed
  if (rule.kind != RuleKind::kDisable) {
    if (const auto owner = groups_.leave(rule.group)) agents_.release(*owner);
  }
  set_elements(slot, 0);
  --agents_[rule.owner].rule_count;
  agents_.release(rule.owner);
  pids_.give_back((std::uint64_t{rule.pid_epoch} << 32) | rule.pid.value);
  rules_.erase(slot);
}

// --- Changes -----------------------------------------------------------------------------------

AddressTuple PolicyEngine::outside_of(RuleSlot slot) const {
  const Rule& rule = rules_[slot];
  // 8.3.2: a pure firewall reports the internal tuple as outside and the external one as inside.
  return nat_.translates() ? nat_.outside(slot, rule) : at(rule.internal, Location::kOutside);
}

std::optional<AddressTuple> PolicyEngine::inside_of(RuleSlot slot) const {
  const Rule& rule = rules_[slot];
  if (nat_.mode() == Mode::kTwiceNat) return nat_.inside(slot, rule);
  if (nat_.mode() == Mode::kTraditionalNat) return std::nullopt;
  return at(rule.external, Location::kInside);
}

void PolicyEngine::describe(RuleSlot slot, RuleRecord& record) const {
  const Rule& rule = rules_[slot];
  record.pid = rule.pid;
  record.group = rule.group;
  record.owner = rule.owner;
  record.owner_name = agents_[rule.owner].name;
  record.creating_tid = rule.creating_tid;
  record.kind = rule.kind;
  record.any_version = rule.any_version;
  record.parameters = rule.parameters;
  record.internal = rule.internal;
  record.external = rule.external;
  record.expires_at = rule.expires_at;
  if (nat_.translates() && rule.kind != RuleKind::kDisable) {
    record.outside = outside_of(slot);
    record.inside = inside_of(slot);
    record.binding_ages = nat_.ages(slot, rule);
  }
}

std::uint32_t PolicyEngine::weight(RuleSlot slot) const {
  const Rule& rule = rules_[slot];
  const auto each = is_common(rule.internal, rule.external) ? 1U : kUncommonWeight;
  return 1U + each * rule.elements;
}

// The lifetime counts from the decision, so that a timeout in the kernel, which is set later, never
// ends before the rule.
Verdict PolicyEngine::plan_change(RuleSlot slot, RuleChange::Kind kind, Lifetime lifetime,
                                  Instant expires_at, Plan& plan) const {
  using enum RuleChange::Kind;
  SIMCO_ASSERT(rules_[slot].under_way);
  plan.slot = slot;
  plan.weight = weight(slot);
  auto& change = plan.change;
  change.kind = kind;
  change.lifetime = lifetime;
  if (kind != kAdd) describe(slot, change.before);
  if (kind == kRemove) return Verdict::kPlanned;
  describe(slot, change.after);
  change.after.expires_at = expires_at;
  if (kind == kReplace) {
    // The table has the new tuples already (8.4.2).
    change.after.kind = RuleKind::kEnable;
    change.after.any_version = false;
    change.before.internal = change.before.external = enabling_.at(slot);
    change.before.parameters = {};
  }
  return Verdict::kPlanned;
}

Verdict PolicyEngine::plan_addition(RuleSlot slot, Lifetime lifetime, Instant now,
                                    Plan& plan) const {
  return plan_change(slot, RuleChange::Kind::kAdd, lifetime,
                     now + std::chrono::seconds(lifetime.seconds), plan);
}

std::optional<Plan> PolicyEngine::plan_expiry(Instant now) {
  const RuleSlot slot = expiry_.due(now);
  if (slot == kNoSlot) return std::nullopt;
  expiry_.remove(slot);
  begin_change(slot);
  plan_removal(slot);
  Plan plan;
  plan.verdict = plan_change(slot, RuleChange::Kind::kRemove, {}, now, plan);
  plan.charged_to = pays_for_end(slot);
  return plan;
}

// A rule that a disable rule ends must not wait for what its own owner has asked for.
AgentId PolicyEngine::pays_for_end(RuleSlot slot) const {
  const auto ended_by = ended_by_.find(slot);
  const RuleSlot cause = ended_by == ended_by_.end() ? kNoSlot : rules_.find(ended_by->second);
  return rules_[cause == kNoSlot ? slot : cause].owner;
}

void PolicyEngine::plan_removal(RuleSlot slot) {
  const Rule& rule = rules_[slot];
  if (rule.kind != RuleKind::kDisable) groups_.unsettle(rule.group);
}

// --- PLC (8.5) ---------------------------------------------------------------------------------

std::optional<RuleRecord> PolicyEngine::find(PolicyRuleId pid) const {
  const RuleSlot slot = find_visible(pid);
  if (slot == kNoSlot) return std::nullopt;
  RuleRecord record;
  describe(slot, record);
  return record;
}

RuleSlot PolicyEngine::find_visible(PolicyRuleId pid) const {
  const RuleSlot slot = rules_.find(pid);
  return slot == kNoSlot || rules_[slot].pending ? kNoSlot : slot;
}

std::optional<Verdict> PolicyEngine::wait_for(RuleSlot slot, Plan& plan) const {
  const Rule& rule = rules_[slot];
  plan.awaited = rule.pid;
  if (rule.under_way) return Verdict::kWaitForRule;
  // An enable rule that a disable rule hits will end, should the backend accept that.
  if (pending_disable_rules_ == 0 || rule.kind != RuleKind::kEnable) return std::nullopt;
  const Block block = block_on(rule.internal, rule.external);
  if (block.pending == kNoSlot) return std::nullopt;
  plan.awaited = rules_[block.pending].pid;
  return Verdict::kWaitForRule;
}

bool PolicyEngine::has_ended(const Rule& rule, Instant now) const {
  if (rule.expires_at <= now) return true;
  return rule.kind == RuleKind::kEnable && block_on(rule.internal, rule.external).in_force;
}

Verdict PolicyEngine::change_lifetime(const RequestContext& context, const PlcRequest& request,
                                      Instant now, Plan& plan) {
  using enum NegativeReplyCode;
  const RuleSlot slot = find_visible(request.pid);
  if (slot == kNoSlot) return policy::refuse(plan, kNoSuchRule);
  Rule& rule = rules_[slot];
  if (const auto wait = wait_for(slot, plan)) return *wait;
  if (has_ended(rule, now)) return policy::refuse(plan, kNoSuchRule);
  if (!may_change(context.agent, rule.owner)) return policy::refuse(plan, kRuleAccessDenied);
  const Lifetime lifetime = grant(context, request.lifetime);
  const bool ends = lifetime == Lifetime{0};
  const Instant expires_at = now + std::chrono::seconds(lifetime.seconds);
  if (expires_at > rule.expires_at && !agents_[context.agent].policy->may_extend && !ends) {
    return policy::refuse(plan, kLifetimeNotExtendable);
  }
  begin_change(slot);
  if (ends) plan_removal(slot);
  // While its end is being decided it must not end a second time.
  expiry_.remove(slot);
  return plan_change(slot, ends ? RuleChange::Kind::kRemove : RuleChange::Kind::kSetLifetime,
                     lifetime, expires_at, plan);
}

}  // namespace simco::policy
