// Completes a planned change that was carried out, or undoes it.
#pragma once

#include "middlebox/policy/plan.hpp"
#include "middlebox/policy/rule_book.hpp"

namespace simco::policy {

/// Settles changes. Holds nothing but the book.
class Settlement {
 public:
  explicit Settlement(RuleBook& book) : book_(book) {}

  /// Views in the reply are valid until the book changes.
  Outcome settle(RuleSlot slot, const rule::RuleChange& change, rule::ChangeResult result,
                 Instant now);

 private:
  void commit(RuleSlot slot, const rule::RuleChange& change, Instant now, Outcome& outcome);
  void commit_addition(RuleSlot slot, const rule::RuleChange& change, Outcome& outcome);
  void commit_replacement(RuleSlot slot, const rule::RuleChange& change, Outcome& outcome);
  void commit_lifetime(RuleSlot slot, const rule::RuleChange& change, Instant now,
                       Outcome& outcome);
  void commit_removal(RuleSlot slot, Outcome& outcome);
  void roll_back(RuleSlot slot, const rule::RuleChange& change, Instant now, Outcome& outcome);
  void roll_back_addition(RuleSlot slot);
  void note_ended(RuleSlot slot, Outcome& outcome);

  RuleBook& book_;
};

}  // namespace simco::policy
