// Plans changes of rules that a request, their lifetime or a restart causes.
#include "middlebox/policy/planned_change.hpp"

#include <algorithm>

#include "middlebox/policy/rule_status.hpp"
#include "middlebox/policy/traffic.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

using rule::RuleChange;

namespace {

std::uint32_t weight(const RuleBook& book, RuleSlot slot) {
  const Rule& rule = book.rules[slot];
  const auto each = is_common(rule.internal, rule.external) ? 1U : kUncommonWeight;
  return 1U + each * rule.elements;
}

// A rule that a disable rule ends must not wait for its own owner's requests.
AgentId pays_for_end(const RuleBook& book, RuleSlot slot) {
  const auto ended_by = book.disable_rules.ended_by(slot);
  const RuleSlot cause = ended_by ? book.rules.find(*ended_by) : kNoSlot;
  return book.rules[cause == kNoSlot ? slot : cause].owner;
}

/// What two readings of the two clocks may differ in: the end of a lifetime is kept by the wall
/// clock, and counted by the other.
constexpr std::chrono::milliseconds kClockReading{5};

bool same_but_for_lifetime(const RuleBook& book, RuleSlot slot, const rule::RuleRecord& other) {
  rule::RuleRecord rule;
  describe(book, slot, rule);
  return rule.kind == other.kind && rule.group == other.group &&
         rule.owner_name == other.owner_name && rule.creating_tid == other.creating_tid &&
         rule.any_version == other.any_version && rule.parameters == other.parameters &&
         rule.internal == other.internal && rule.external == other.external &&
         rule.outside == other.outside && rule.inside == other.inside;
}

}  // namespace

// The lifetime counts from the decision, so that a timeout in the kernel, which is set later, never
// ends before the rule.
Verdict plan_change(const RuleBook& book, RuleSlot slot, RuleChange::Kind kind, Lifetime lifetime,
                    Instant expires_at, Plan& plan) {
  using enum RuleChange::Kind;
  SIMCO_ASSERT(book.rules[slot].under_way);
  plan.slot = slot;
  plan.weight = weight(book, slot);
  auto& change = plan.change;
  change.kind = kind;
  change.lifetime = lifetime;
  if (kind != kAdd) describe(book, slot, change.before);
  if (kind == kRemove) return Verdict::kPlanned;
  describe(book, slot, change.after);
  change.after.expires_at = expires_at;
  if (kind == kReplace) {
    // The table has the new tuples already (8.4.2).
    change.after.kind = RuleKind::kEnable;
    change.after.any_version = false;
    change.before.internal = change.before.external = book.enabling.at(slot);
    change.before.parameters = {};
  }
  return Verdict::kPlanned;
}

Verdict plan_addition(const RuleBook& book, RuleSlot slot, Lifetime lifetime, Instant now,
                      Plan& plan) {
  return plan_change(book, slot, RuleChange::Kind::kAdd, lifetime,
                     now + std::chrono::seconds(lifetime.seconds), plan);
}

void mark_removal(RuleBook& book, RuleSlot slot) {
  const Rule& rule = book.rules[slot];
  if (rule.kind != RuleKind::kDisable) book.groups.unsettle(rule.group);
}

std::optional<Plan> plan_expiry(RuleBook& book, Instant now) {
  const RuleSlot slot = book.expiry.due(now);
  if (slot == kNoSlot) return std::nullopt;
  book.expiry.remove(slot);
  book.begin_change(slot);
  mark_removal(book, slot);
  Plan plan;
  plan.verdict = plan_change(book, slot, RuleChange::Kind::kRemove, {}, now, plan);
  plan.charged_to = pays_for_end(book, slot);
  return plan;
}

std::expected<Plan, std::string> recover(RuleBook& book, const rule::RuleRecord& record,
                                         Lifetime lifetime) {
  const auto lost = [](const char* why) { return std::unexpected<std::string>(why); };
  const bool grouped = record.kind != RuleKind::kDisable;
  if (record.pid.value == 0 || book.rules.find(record.pid) != kNoSlot)
    return lost("its PID is taken");
  if (record.owner_name.size() > kOwnerSizeMax) return lost("its owner's name is too long");
  if (grouped && record.group.value == 0) return lost("it has no group");
  const bool translated = book.nat.translates() && grouped;
  if (record.outside.has_value() != translated ||
      record.inside.has_value() != (translated && book.nat.mode() == Mode::kTwiceNat)) {
    return lost("it belongs to another kind of middlebox (firewall, NAT or twice NAT)");
  }
  const AgentId owner = book.agents.acquire(record.owner_name);
  const RuleSlot slot = book.place(record.pid, book.pids.position_of(record.pid.value), owner,
                                   record.creating_tid, record.kind);
  Rule& rule = book.rules[slot];
  rule.internal = record.internal;
  rule.external = record.external;
  rule.parameters = record.parameters;
  rule.any_version = record.any_version;
  if (record.kind == RuleKind::kEnable) {
    book.quotas.set_elements(slot, book.elements_for(record.internal, record.external));
  } else if (record.kind == RuleKind::kDisable) {
    book.quotas.set_elements(slot, elements_of(record.internal, record.external, 0));
  }
  if (grouped) {
    rule.group = record.group;
    if (book.groups.owner(record.group)) {
      book.groups.join(record.group);
    } else {
      book.groups.restore(record.group, owner);
      book.agents.hold(owner);
    }
  }
  book.agents.release(owner);  // the rule holds it now
  if (translated &&
      !book.nat.reclaim(slot, rule, record.outside, record.inside, record.binding_ages)) {
    book.destroy(slot);
    return lost("its addresses or ports are no longer in the pools");
  }
  if (!grouped) book.disable_rules.plan(slot);
  Plan plan;
  plan.verdict =
      plan_change(book, slot, rule::RuleChange::Kind::kAdd, lifetime, record.expires_at, plan);
  return plan;
}

std::expected<Plan, std::string> follow(RuleBook& book, PolicyRuleId pid,
                                        const rule::RuleRecord* rule, Lifetime lifetime,
                                        Instant now) {
  const RuleSlot slot = book.rules.find(pid);
  Plan plan;
  if (slot == kNoSlot) {
    if (rule == nullptr) return plan;
    return recover(book, *rule, lifetime);
  }
  if (book.rules[slot].under_way) {
    plan.verdict = Verdict::kWaitForRule;
    return plan;
  }
  const bool ends = rule == nullptr || !same_but_for_lifetime(book, slot, *rule);
  if (!ends && abs(rule->expires_at - book.rules[slot].expires_at) <= kClockReading) return plan;
  book.expiry.remove(slot);
  book.begin_change(slot);
  // Its lifetime is over: should the backend refuse the removal, it is tried again.
  if (ends) book.rules[slot].expires_at = std::min(book.rules[slot].expires_at, now);
  if (ends) mark_removal(book, slot);
  using enum RuleChange::Kind;
  plan.verdict = ends ? plan_change(book, slot, kRemove, {}, now, plan)
                      : plan_change(book, slot, kSetLifetime, lifetime, rule->expires_at, plan);
  plan.charged_to = book.rules[slot].owner;
  return plan;
}

void end_following(RuleBook& book, Instant now) {
  book.disable_rules.hold_searches(false);
  for (RuleSlot slot{0}; slot.value < book.rules.slots_end(); ++slot.value) {
    Rule& rule = book.rules[slot];
    const bool disables = rule.pid != PolicyRuleId{} && rule.kind == RuleKind::kDisable;
    if (!disables || rule.pending || rule.under_way) continue;
    if (!book.disable_rules.begin_search(slot)) return;
    book.expiry.remove(slot);
    rule.under_way = true;
    while (!book.disable_rules.search(rule.pid, kDisableScanMax, now).found_all) {
    }
  }
}

}  // namespace simco::policy
