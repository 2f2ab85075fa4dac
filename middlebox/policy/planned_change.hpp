// Makes plans of changes: the backend's work, its cost, and the agent that pays for it.
#pragma once

#include <optional>

#include "middlebox/policy/plan.hpp"
#include "middlebox/policy/rule_book.hpp"

namespace simco::policy {

/// Plans a change of the rule in `slot`, which must be under way. Returns Verdict::kPlanned.
Verdict plan_change(const RuleBook& book, RuleSlot slot, rule::RuleChange::Kind kind,
                    Lifetime lifetime, Instant expires_at, Plan& plan);
/// The same for a pending rule that will be added.
Verdict plan_addition(const RuleBook& book, RuleSlot slot, Lifetime lifetime, Instant now,
                      Plan& plan);
/// Marks the rule as being removed: its group may end with it.
void mark_removal(RuleBook& book, RuleSlot slot);
/// Plans the removal of an expired rule, if any.
std::optional<Plan> plan_expiry(RuleBook& book, Instant now);

}  // namespace simco::policy
