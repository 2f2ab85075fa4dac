#include "middlebox/policy/engine.hpp"

#include <algorithm>
#include <variant>

#include "middlebox/policy/checks.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {
namespace {

using backend::ChangeResult;
using backend::RuleChange;
using Verdict = PolicyEngine::Verdict;

Verdict refuse(Body& reply, NegativeReplyCode code) {
  reply = NegativeReply{code, {}};
  return Verdict::kReplied;
}

// Rounded up: a rule that still lives never reports 0, which would say that it is gone.
Lifetime remaining(const Rule& rule, Instant now) {
  using std::chrono::ceil, std::chrono::seconds;
  const auto left = ceil<seconds>(rule.deadline - now);
  return {static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 0))};
}

AddressTuple at(AddressTuple tuple, Location location) {
  tuple.location = location;
  return tuple;
}

}  // namespace

Verdict PolicyEngine::plan(AgentId agent, TransactionId tid, const Body& request, Instant now,
                           Body& reply, PlannedChange& change) {
  if (const auto* per = std::get_if<PerRequest>(&request)) {
    return enable(agent, tid, *per, now, reply, change);
  }
  if (const auto* plc = std::get_if<PlcRequest>(&request)) {
    return change_lifetime(agent, *plc, now, reply, change);
  }
  if (const auto* prs = std::get_if<PrsRequest>(&request)) {
    return report_status(agent, *prs, now, reply);
  }
  if (std::holds_alternative<PrlRequest>(request)) return list_rules(agent, reply);
  return refuse(reply, NegativeReplyCode::kTransactionNotSupported);
}

// --- PER (8.3) ---------------------------------------------------------------------------------

std::optional<NegativeReplyCode> PolicyEngine::check_enable(AgentId agent,
                                                            const PerRequest& request) const {
  using enum NegativeReplyCode;
  if (request.group) {
    const auto owner = groups_.owner(*request.group);
    if (!owner) return kNoSuchGroup;
    if (!may_access(agent, *owner)) return kGroupAccessDenied;
  }
  if (const auto code = check_tuples(request.internal, request.external,
                                     request.parameters.direction, options_.capabilities)) {
    return code;
  }
  if (grant(request.lifetime) == Lifetime{0}) return kConfigurationFailed;
  if (rules_.size() >= options_.rules_max) return kNoResources;
  return std::nullopt;
}

Verdict PolicyEngine::enable(AgentId agent, TransactionId tid, const PerRequest& request,
                             Instant now, Body& reply, PlannedChange& change) {
  if (const auto code = check_enable(agent, request)) return refuse(reply, *code);
  const Lifetime lifetime = grant(request.lifetime);
  // Counted from here, so that a kernel timeout, set later, never ends before the rule does.
  change = {create_rule(agent, tid, request), RuleChange::Kind::kEnable, lifetime,
            now + std::chrono::seconds(lifetime.seconds)};
  return Verdict::kPlanned;
}

Lifetime PolicyEngine::grant(Lifetime requested) const {
  return std::min(requested, Lifetime{options_.capabilities.lifetime_max_s});
}

RuleSlot PolicyEngine::create_rule(AgentId agent, TransactionId tid, const PerRequest& request) {
  const auto taken =
      pids_.take([this](std::uint32_t id) { return rules_.find(PolicyRuleId{id}) != kNoSlot; });
  const RuleSlot slot = rules_.insert(PolicyRuleId{taken.id});
  Rule& rule = rules_[slot];
  rule.pid_epoch = static_cast<std::uint32_t>(taken.position >> 32);
  rule.owner = agent;
  rule.created_by = tid;
  rule.internal = request.internal;
  rule.external = request.external;
  rule.parameters = request.parameters;
  rule.under_way = true;
  rule.unborn = true;
  agents_.hold(agent);
  if (request.group) {
    rule.group = *request.group;
    groups_.join(rule.group);
  } else {
    rule.group = groups_.create(agent);
  }
  return slot;
}

void PolicyEngine::commit_enable(const PlannedChange& change, Body& reply) {
  Rule& rule = rules_[change.slot];
  rule.unborn = false;
  rule.deadline = change.deadline;
  Agent& owner = agents_[rule.owner];
  append<&Rule::by_owner>(rules_, owner.rules, change.slot);
  ++owner.rule_count;
  expiry_.add(change.slot);
  // 8.3.2: a pure firewall reports the internal tuple as outside and the external one as inside.
  reply = PerReply{rule.pid, rule.group, change.lifetime, at(rule.internal, Location::kOutside),
                   at(rule.external, Location::kInside)};
}

// --- PLC (8.5) ---------------------------------------------------------------------------------

RuleSlot PolicyEngine::find_accessible(AgentId agent, PolicyRuleId pid, Body& reply) const {
  const RuleSlot slot = rules_.find(pid);
  if (slot == kNoSlot || rules_[slot].unborn) {
    refuse(reply, NegativeReplyCode::kNoSuchRule);
    return kNoSlot;
  }
  if (!may_access(agent, rules_[slot].owner)) {
    refuse(reply, NegativeReplyCode::kRuleAccessDenied);
    return kNoSlot;
  }
  return slot;
}

Verdict PolicyEngine::change_lifetime(AgentId agent, const PlcRequest& request, Instant now,
                                      Body& reply, PlannedChange& change) {
  const RuleSlot slot = find_accessible(agent, request.pid, reply);
  if (slot == kNoSlot) return Verdict::kReplied;
  Rule& rule = rules_[slot];
  if (rule.under_way) {
    change.slot = slot;
    return Verdict::kWait;
  }
  const Lifetime lifetime = grant(request.lifetime);
  // A rule whose time has come is gone, even where the sweep has not been there yet.
  if (rule.deadline <= now && lifetime != Lifetime{0}) {
    return refuse(reply, NegativeReplyCode::kNoSuchRule);
  }
  const bool ends = lifetime == Lifetime{0};
  change = {slot, ends ? RuleChange::Kind::kRemove : RuleChange::Kind::kSetLifetime, lifetime,
            now + std::chrono::seconds(lifetime.seconds)};
  rule.under_way = true;
  // While its end is being decided it must not end a second time.
  expiry_.remove(slot);
  return Verdict::kPlanned;
}

void PolicyEngine::commit_removal(const PlannedChange& change) {
  Rule& rule = rules_[change.slot];
  Agent& owner = agents_[rule.owner];
  unlink<&Rule::by_owner>(rules_, owner.rules, change.slot);
  --owner.rule_count;
  destroy_rule(change.slot);
}

void PolicyEngine::destroy_rule(RuleSlot slot) {
  const Rule& rule = rules_[slot];
  groups_.leave(rule.group);
  agents_.release(rule.owner);
  pids_.give_back((std::uint64_t{rule.pid_epoch} << 32) | rule.pid.value);
  rules_.erase(slot);
}

// --- PRS (8.6) and PRL (8.7) -------------------------------------------------------------------

Verdict PolicyEngine::report_status(AgentId agent, const PrsRequest& request, Instant now,
                                    Body& reply) const {
  const RuleSlot slot = find_accessible(agent, request.pid, reply);
  if (slot == kNoSlot) return Verdict::kReplied;
  const Rule& rule = rules_[slot];
  if (rule.deadline <= now) return refuse(reply, NegativeReplyCode::kNoSuchRule);
  PesReply status;
  status.pid = rule.pid;
  status.group = rule.group;
  status.parameters = rule.parameters;
  status.internal = rule.internal;
  status.inside = at(rule.external, Location::kInside);
  status.outside = at(rule.internal, Location::kOutside);
  status.external = rule.external;
  status.lifetime = remaining(rule, now);
  status.owner = Owner{OctetsView::of(agents_[rule.owner].name)};
  reply = status;
  return Verdict::kReplied;
}

Verdict PolicyEngine::list_rules(AgentId agent, Body& reply) const {
  const Agent& owner = agents_[agent];
  if (owner.rule_count > kRuleListMax) return refuse(reply, NegativeReplyCode::kReplyTooBig);
  PrlReply list;
  list.pids.reserve(owner.rule_count);
  for (RuleSlot slot = owner.rules.first; slot != kNoSlot; slot = rules_[slot].by_owner.next) {
    list.pids.push_back(rules_[slot].pid);
  }
  reply = std::move(list);
  return Verdict::kReplied;
}

// --- The second step ---------------------------------------------------------------------------

RuleChange PolicyEngine::describe(const PlannedChange& change) const {
  const Rule& rule = rules_[change.slot];
  return {change.kind, rule.pid, rule.parameters, rule.internal, rule.external, change.lifetime};
}

void PolicyEngine::commit(const PlannedChange& change, Instant, Body& reply, RuleEvent& event) {
  Rule& rule = rules_[change.slot];
  SIMCO_ASSERT(rule.under_way);
  rule.under_way = false;
  event = {rule.pid, change.lifetime, rule.owner, rule.created_by};
  switch (change.kind) {
    case RuleChange::Kind::kEnable: return commit_enable(change, reply);
    case RuleChange::Kind::kSetLifetime:
      rule.deadline = change.deadline;
      expiry_.add(change.slot);
      reply = PlcReply{change.lifetime};
      return;
    case RuleChange::Kind::kRemove:
      commit_removal(change);
      reply = PrdReply{};
      return;
  }
}

void PolicyEngine::roll_back(const PlannedChange& change, ChangeResult why, Instant now,
                             Body& reply) {
  Rule& rule = rules_[change.slot];
  SIMCO_ASSERT(rule.under_way && why != ChangeResult::kDone);
  rule.under_way = false;
  refuse(reply, why == ChangeResult::kNoResources ? NegativeReplyCode::kNoResources
                                                  : NegativeReplyCode::kConfigurationFailed);
  if (change.kind == RuleChange::Kind::kEnable) return destroy_rule(change.slot);
  // Whatever ended or was to end it: a rule that the backend still enforces stays in the table.
  if (rule.deadline <= now) rule.deadline = now + kExpiryRetry;
  expiry_.add(change.slot);
}

void PolicyEngine::plan_expiry(Instant now, std::vector<PlannedChange>& changes) {
  for (std::size_t i = 0; i < kExpiryBatchMax; ++i) {
    const RuleSlot slot = expiry_.due(now);
    if (slot == kNoSlot) return;
    expiry_.remove(slot);
    rules_[slot].under_way = true;
    changes.push_back({slot, RuleChange::Kind::kRemove, Lifetime{0}, now});
  }
}

}  // namespace simco::policy
