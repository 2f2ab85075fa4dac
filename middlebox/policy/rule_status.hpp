// Representations of a rule: the replies of RFC 4540 section 8, and the record for the store.
#pragma once

#include <algorithm>
#include <optional>

#include "middlebox/policy/plan.hpp"
#include "middlebox/policy/rule_book.hpp"

namespace simco::policy {

inline Verdict refuse(Plan& plan, NegativeReplyCode code) {
  plan.reply = NegativeReply{code, {}};
  return Verdict::kReplied;
}

/// Returns the remaining lifetime, rounded up: a live rule never reports 0, which would mean that
/// it has ended.
inline Lifetime remaining(const Rule& rule, Instant now) {
  using std::chrono::ceil, std::chrono::seconds;
  const auto left = ceil<seconds>(rule.expires_at - now);
  return {static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 0))};
}

inline AddressTuple at(AddressTuple tuple, Location location) {
  tuple.location = location;
  return tuple;
}

/// Returns every address and port of `version` and `protocol`, as a `protocols only` tuple (8.2.2).
inline AddressTuple any_address(IpVersion version, std::uint8_t protocol) {
  AddressTuple tuple;
  tuple.form = AddressForm::kProtocolsOnly;
  tuple.ip_version = version;
  tuple.prefix_length = 0;
  tuple.protocol = protocol;
  return tuple;
}

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
