#include "middlebox/policy/planned_change.hpp"

#include "middlebox/policy/rule_status.hpp"
#include "middlebox/policy/traffic.hpp"

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

}  // namespace simco::policy
