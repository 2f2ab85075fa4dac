// What happens to the book: requests and expired rules are planned, with the backend's work, its
// cost, and the agent that pays for it; changes are settled; rules of before a restart come back.
// And why a request or a change was refused, in words for the log: a reply has only its code.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "middlebox/policy/plan.hpp"
#include "middlebox/policy/rule_book.hpp"

namespace simco::policy {

/// Decides a request: PRR, PER, PEA, PDR, PLC, PRS or PRL (RFC 4540 section 8).
Plan plan_request(RuleBook& book, const RequestContext& context, const Body& request, Instant now);
/// Completes a planned change that was carried out, or undoes it. Views in the reply are valid
/// until the book changes.
Outcome settle(RuleBook& book, RuleSlot slot, const rule::RuleChange& change,
               rule::ChangeResult result, Instant now);
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

/// As PolicyEngine::recover().
std::expected<Plan, std::string> recover(RuleBook& book, const rule::RuleRecord& record,
                                         Lifetime lifetime);

/// As PolicyEngine::follow().
std::expected<Plan, std::string> follow(RuleBook& book, PolicyRuleId pid,
                                        const rule::RuleRecord* rule, Lifetime lifetime,
                                        Instant now);

/// As PolicyEngine::end_following().
void end_following(RuleBook& book, Instant now);

/// Returns why `request` has just been refused with `code`: which right, limit or rule; empty if
/// the code says it all. Must be called before anything changes.
std::string reason_of(const RuleBook& book, const RequestContext& context, const Body& request,
                      NegativeReplyCode code);
/// Returns why a planned change was not carried out. After it is settled.
std::string reason_of(const RuleBook& book, const rule::RuleChange& change,
                      rule::ChangeResult result);

}  // namespace simco::policy
