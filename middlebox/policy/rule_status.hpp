// Representations of a rule: the replies of RFC 4540 section 8, and the record for the store.
#pragma once

#include <optional>

#include "middlebox/policy/rule_book.hpp"

namespace simco::policy {

// `slot` is that of a rule in the book, throughout.

/// Returns A1, the tuple at which the rule's internal end is reached from outside.
AddressTuple outside_of(const RuleBook& book, RuleSlot slot);
/// Returns A2, the tuple at which the external end is reached from inside; a traditional NAT has
/// none.
std::optional<AddressTuple> inside_of(const RuleBook& book, RuleSlot slot);
/// Returns the reply to the PRR (8.2.2, 8.2.3), with the remaining lifetime.
PrrReply reserve_reply(const RuleBook& book, RuleSlot slot, Lifetime lifetime);
/// Returns the reply to the PER or PEA (8.3.2, 8.4.3).
PerReply enable_reply(const RuleBook& book, RuleSlot slot, Lifetime lifetime);
/// Returns the reply to a PRS (8.6).
Body status_reply(const RuleBook& book, RuleSlot slot, Instant now);
/// Copies the rule into an empty record.
void describe(const RuleBook& book, RuleSlot slot, rule::RuleRecord& record);

}  // namespace simco::policy
