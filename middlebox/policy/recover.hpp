// Re-creates the rules from before a restart.
#pragma once

#include <expected>
#include <string>

#include "middlebox/policy/plan.hpp"
#include "middlebox/policy/rule_book.hpp"

namespace simco::policy {

/// As PolicyEngine::recover().
std::expected<Plan, std::string> recover(RuleBook& book, const rule::RuleRecord& record,
                                         Lifetime lifetime);

}  // namespace simco::policy
