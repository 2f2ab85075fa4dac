// Deciding requests and their outcomes; lifetimes. What is special to a transaction stands in the
// other engine_*.cpp files.
#include "middlebox/policy/engine.hpp"

#include <algorithm>
#include <variant>

#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/replies.hpp"
#include "middlebox/policy/traffic.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

using backend::ChangeResult;
using backend::RuleChange;
using Verdict = PolicyEngine::Verdict;

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

Verdict PolicyEngine::plan(const Asker& asker, const Body& request, Instant now, Body& reply,
                           PlannedChange& change) {
  const auto transaction = transaction_of(request);
  if (!transaction) return policy::refuse(reply, NegativeReplyCode::kTransactionNotSupported);
  if (const auto code = check_authority(asker.agent, *transaction))
    return policy::refuse(reply, *code);
  switch (*transaction) {
    case Transaction::kPrr:
      return reserve(asker, std::get<PrrRequest>(request), now, reply, change);
    case Transaction::kPer: return enable(asker, std::get<PerRequest>(request), now, reply, change);
    case Transaction::kPea:
      return enable_reserved(asker, std::get<PeaRequest>(request), now, reply, change);
    case Transaction::kPdr:
      return disable(asker, std::get<PdrRequest>(request), now, reply, change);
    case Transaction::kPlc:
      return change_lifetime(asker, std::get<PlcRequest>(request), now, reply, change);
    case Transaction::kPrs:
      return report_status(asker, std::get<PrsRequest>(request), now, reply, change);
    case Transaction::kPrl: return list_rules(asker, now, reply);
  }
  return policy::refuse(reply, NegativeReplyCode::kTransactionNotSupported);
}

PolicyEngine::Code PolicyEngine::check_authority(AgentId agent, Transaction transaction) const {
  const auto* policy = agents_[agent].policy;
  if (policy == nullptr || !policy->allows(transaction)) {
    return NegativeReplyCode::kAgentNotAuthorized;
  }
  return std::nullopt;
}

Verdict PolicyEngine::refuse(const Asker& asker, Body& reply, NegativeReplyCode code) {
  using enum NegativeReplyCode;
  switch (code) {
    case kNoResources:
    case kNoSuchGroup:
    case kAddressSpaceNotAvailable:
    case kLackOfAddresses:
    case kLackOfPorts:
    case kParityMismatch:
    case kConflict:
      if (!asker.settled) return Verdict::kWaitForChanges;
      break;
    default: break;
  }
  return policy::refuse(reply, code);
}

PolicyEngine::Code PolicyEngine::check_group(const Asker& asker,
                                             const std::optional<GroupId>& group) const {
  if (!group) return std::nullopt;
  const auto owner = groups_.owner(*group);
  // It may be gone when the changes of its members are decided.
  const bool may_end =
      !groups_.will_stay(*group) || unborn_disable_rules_ != 0 || !ended_by_.empty();
  if (!owner || (!asker.settled && may_end)) return NegativeReplyCode::kNoSuchGroup;
  // RFC 5189 2.1.5: the rules of a group have one owner, and a new rule is its agent's.
  if (*owner != asker.agent) return NegativeReplyCode::kGroupAccessDenied;
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

std::uint32_t PolicyEngine::weight(const PlannedChange& change) const {
  const Rule& rule = rules_[change.slot];
  const auto each = is_common(rule.internal, rule.external) ? 1U : kUncommonWeight;
  return 1U + each * rule.elements;
}

Lifetime PolicyEngine::grant(const Asker& asker, Lifetime requested) const {
  const std::uint32_t now_allowed = capabilities(asker.agent).lifetime_max_s;
  return {std::min({requested.seconds, now_allowed, asker.lifetime_max_s})};
}

RuleSlot PolicyEngine::create_rule(const Asker& asker, RuleKind kind,
                                   const std::optional<GroupId>& group) {
  const auto taken =
      pids_.take([this](std::uint32_t id) { return rules_.find(PolicyRuleId{id}) != kNoSlot; });
  const RuleSlot slot =
      place_rule(PolicyRuleId{taken.id}, taken.position, asker.agent, asker.tid, kind);
  Rule& rule = rules_[slot];
  if (kind == RuleKind::kDisable) return slot;  // figure 38: in no group
  if (group) {
    rule.group = *group;
    groups_.join(rule.group);
  } else {
    rule.group = groups_.create(asker.agent);
    agents_.hold(asker.agent);
  }
  return slot;
}

RuleSlot PolicyEngine::place_rule(PolicyRuleId pid, std::uint64_t position, AgentId owner,
                                  TransactionId created_by, RuleKind kind) {
  const RuleSlot slot = rules_.insert(pid);
  Rule& rule = rules_[slot];
  rule.pid_epoch = static_cast<std::uint32_t>(position >> 32);
  rule.owner = owner;
  rule.created_by = created_by;
  rule.kind = kind;
  rule.under_way = true;
  rule.unborn = true;
  agents_.hold(owner);
  ++agents_[owner].rule_count;
  return slot;
}

void PolicyEngine::destroy_rule(RuleSlot slot) {
  const Rule& rule = rules_[slot];
  if (rule.kind != RuleKind::kDisable) {
    if (const auto owner = groups_.leave(rule.group)) agents_.release(*owner);
  }
  set_elements(slot, 0);
  --agents_[rule.owner].rule_count;
  agents_.release(rule.owner);
  pids_.give_back((std::uint64_t{rule.pid_epoch} << 32) | rule.pid.value);
  rules_.erase(slot);
}

// The lifetime counts from here, so that a kernel timeout, set later, never ends before the rule.
Verdict PolicyEngine::plan_addition(RuleSlot slot, Lifetime lifetime, Instant now,
                                    PlannedChange& change) {
  change = {slot, RuleChange::Kind::kAdd, lifetime, now + std::chrono::seconds(lifetime.seconds)};
  return Verdict::kPlanned;
}

// --- PLC (8.5) ---------------------------------------------------------------------------------

RuleSlot PolicyEngine::find_visible(PolicyRuleId pid) const {
  const RuleSlot slot = rules_.find(pid);
  return slot == kNoSlot || rules_[slot].unborn ? kNoSlot : slot;
}

std::optional<Verdict> PolicyEngine::wait_for(const Asker& asker, RuleSlot slot,
                                              PlannedChange& change) const {
  const Rule& rule = rules_[slot];
  change.slot = slot;
  if (rule.under_way) return Verdict::kWaitForRule;
  // An enable rule that a disable rule hits will end, should the backend accept that.
  const bool may_end = unborn_disable_rules_ != 0 && rule.kind == RuleKind::kEnable;
  if (!asker.settled && may_end && is_disabled(rule.internal, rule.external)) {
    return Verdict::kWaitForChanges;
  }
  return std::nullopt;
}

Verdict PolicyEngine::change_lifetime(const Asker& asker, const PlcRequest& request, Instant now,
                                      Body& reply, PlannedChange& change) {
  using enum NegativeReplyCode;
  const RuleSlot slot = find_visible(request.pid);
  if (slot == kNoSlot) return policy::refuse(reply, kNoSuchRule);
  Rule& rule = rules_[slot];
  if (const auto wait = wait_for(asker, slot, change)) return *wait;
  // A rule whose time has come is gone, even where the sweep has not been there yet.
  if (rule.deadline <= now) return policy::refuse(reply, kNoSuchRule);
  if (!may_change(asker.agent, rule.owner)) return policy::refuse(reply, kRuleAccessDenied);
  const Lifetime lifetime = grant(asker, request.lifetime);
  const bool ends = lifetime == Lifetime{0};
  const Instant deadline = now + std::chrono::seconds(lifetime.seconds);
  if (deadline > rule.deadline && !agents_[asker.agent].policy->may_extend && !ends) {
    return policy::refuse(reply, kLifetimeNotExtendable);
  }
  change = {slot, ends ? RuleChange::Kind::kRemove : RuleChange::Kind::kSetLifetime, lifetime,
            deadline};
  rule.under_way = true;
  if (ends) plan_removal(slot);
  // While its end is being decided it must not end a second time.
  expiry_.remove(slot);
  return Verdict::kPlanned;
}

void PolicyEngine::plan_removal(RuleSlot slot) {
  const Rule& rule = rules_[slot];
  if (rule.kind != RuleKind::kDisable) groups_.unsettle(rule.group);
}

// --- The second step ---------------------------------------------------------------------------

AddressTuple PolicyEngine::outside_of(RuleSlot slot) const {
  const Rule& rule = rules_[slot];
  // 8.3.2: a pure firewall reports the internal tuple as outside and the external one as inside.
  return nat_.translates() ? nat_.outside(slot, rule) : at(rule.internal, Location::kOutside);
}

std::optional<AddressTuple> PolicyEngine::inside_of(RuleSlot slot) const {
  const Rule& rule = rules_[slot];
  if (nat_.mode() == Mode::kTwiceNat) return nat_.inside(slot, rule);
  if (nat_.mode() == Mode::kNat) return std::nullopt;
  return at(rule.external, Location::kInside);
}

RuleChange PolicyEngine::describe(const PlannedChange& change) const {
  const Rule& rule = rules_[change.slot];
  const bool replaces = change.kind == RuleChange::Kind::kReplace;
  RuleChange result{change.kind,
                    replaces ? RuleKind::kEnable : rule.kind,
                    rule.pid,
                    rule.parameters,
                    rule.internal,
                    rule.external,
                    {},
                    {},
                    change.lifetime,
                    rule.owner.value};
  if (nat_.translates() && rule.kind != RuleKind::kDisable) {
    result.outside = outside_of(change.slot);
    result.inside = inside_of(change.slot);
  }
  return result;
}

void PolicyEngine::commit(const PlannedChange& change, Instant now, Body& reply, RuleEvent& event) {
  Rule& rule = rules_[change.slot];
  SIMCO_ASSERT(rule.under_way);
  rule.under_way = false;
  event = {rule.pid, change.lifetime, rule.owner, rule.created_by, {}, 0};
  switch (change.kind) {
    case RuleChange::Kind::kAdd: return commit_addition(change, now, reply, event);
    case RuleChange::Kind::kReplace: return commit_replacement(change, reply);
    case RuleChange::Kind::kSetLifetime:
      commit_lifetime(change, now);
      reply = PlcReply{change.lifetime};
      return;
    case RuleChange::Kind::kRemove:
      if (const auto end = ended_by_.extract(change.slot)) event.ended_by = end.mapped();
      commit_removal(change);
      reply = PrdReply{};
      return;
  }
}

void PolicyEngine::commit_addition(const PlannedChange& change, Instant now, Body& reply,
                                   RuleEvent& event) {
  Rule& rule = rules_[change.slot];
  rule.unborn = false;
  rule.deadline = change.deadline;
  if (rule.kind != RuleKind::kDisable) groups_.settle(rule.group);
  append<&Rule::by_owner>(rules_, agents_[rule.owner].rules, change.slot);
  ++agents_[rule.owner].live_count;
  expiry_.add(change.slot);
  switch (rule.kind) {
    case RuleKind::kReserve: reply = reserved(change.slot, change.lifetime); return;
    case RuleKind::kEnable:
      enable_rules_.insert(change.slot, traffic_of(rule.internal, rule.external));
      reply = enabled(change.slot, change.lifetime);
      return;
    case RuleKind::kDisable:
      --unborn_disable_rules_;
      event.ends = end_disabled_rules(change.slot, now);
      reply = PdrReply{rule.pid, change.lifetime};
      return;
  }
}

// 8.4.2: the PID stays, and so do group, owner and what the NAT had reserved.
void PolicyEngine::commit_replacement(const PlannedChange& change, Body& reply) {
  Rule& rule = rules_[change.slot];
  rule.kind = RuleKind::kEnable;
  rule.any_version = false;
  enabling_.erase(change.slot);
  rule.deadline = change.deadline;
  if (nat_.translates()) nat_.adopt(change.slot, rule);
  expiry_.add(change.slot);
  enable_rules_.insert(change.slot, traffic_of(rule.internal, rule.external));
  reply = enabled(change.slot, change.lifetime);
}

void PolicyEngine::commit_lifetime(const PlannedChange& change, Instant now) {
  // A disable rule that came in between has ended it, whatever was asked for.
  const bool ended = ended_by_.contains(change.slot);
  rules_[change.slot].deadline = ended ? now - kExpiryTick : change.deadline;
  expiry_.add(change.slot);
}

void PolicyEngine::commit_removal(const PlannedChange& change) {
  Rule& rule = rules_[change.slot];
  unlink<&Rule::by_owner>(rules_, agents_[rule.owner].rules, change.slot);
  --agents_[rule.owner].live_count;
  if (rule.kind == RuleKind::kEnable) {
    enable_rules_.erase(change.slot, traffic_of(rule.internal, rule.external));
  }
  if (rule.kind == RuleKind::kDisable) {
    file_disable_rule(change.slot, false);
  } else if (nat_.translates()) {
    nat_.give_back(change.slot, rule);
  }
  destroy_rule(change.slot);
}

PolicyRuleId PolicyEngine::roll_back(const PlannedChange& change, ChangeResult why, Instant now,
                                     Body& reply) {
  Rule& rule = rules_[change.slot];
  SIMCO_ASSERT(rule.under_way && why != ChangeResult::kDone);
  rule.under_way = false;
  policy::refuse(reply, why == ChangeResult::kNoResources
                            ? NegativeReplyCode::kNoResources
                            : NegativeReplyCode::kConfigurationFailed);
  if (change.kind == RuleChange::Kind::kAdd) {
    if (rule.kind == RuleKind::kDisable) {
      --unborn_disable_rules_;
      file_disable_rule(change.slot, false);
    } else if (nat_.translates()) {
      nat_.give_back(change.slot, rule);
    }
    destroy_rule(change.slot);
    return {};
  }
  if (change.kind == RuleChange::Kind::kReplace) {
    if (nat_.translates()) nat_.abandon(change.slot, rule);
    rule.internal = rule.external = enabling_.extract(change.slot).mapped();
    rule.parameters = {};
    set_elements(change.slot, 0);
  }
  if (change.kind == RuleChange::Kind::kRemove && rule.kind != RuleKind::kDisable) {
    groups_.settle(rule.group);
  }
  if (change.kind == RuleChange::Kind::kSetLifetime && ended_by_.contains(change.slot)) {
    rule.deadline = now - kExpiryTick;  // a disable rule came in between: it still has to go
    expiry_.add(change.slot);
    return {};
  }
  // Whatever ended or was to end it: a rule that the backend still enforces stays in the table.
  if (rule.deadline <= now) rule.deadline = now + kExpiryRetry;
  expiry_.add(change.slot);
  const auto end = ended_by_.extract(change.slot);
  return end ? end.mapped() : PolicyRuleId{};
}

void PolicyEngine::plan_expiry(Instant now, std::vector<PlannedChange>& changes) {
  for (std::size_t i = 0; i < kExpiryBatchMax; ++i) {
    const RuleSlot slot = expiry_.due(now);
    if (slot == kNoSlot) return;
    expiry_.remove(slot);
    rules_[slot].under_way = true;
    plan_removal(slot);
    changes.push_back({slot, RuleChange::Kind::kRemove, Lifetime{0}, now});
  }
}

}  // namespace simco::policy
