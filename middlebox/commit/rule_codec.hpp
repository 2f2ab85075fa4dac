// A policy rule as octets for a store: the attributes of RFC 4540 section 4.3 in their own
// encoding, behind a version.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "middlebox/rule/rule_record.hpp"

namespace simco::middlebox {

/// A rule and its end by the wall clock, which a restart of the machine does not move.
struct KeptRule {
  /// Its owner's name is in the octets that it was decoded from; owner number and end are not set.
  rule::RuleRecord rule;
  Lifetime left;                ///< when it was kept: the rule never lives longer than this
  std::int64_t ends_at_ms = 0;  ///< milliseconds since 1970-01-01 00:00 UTC
};

/// The rule as it is at `now`, which is `wall_ms` by the wall clock (as KeptRule::ends_at_ms).
/// Never empty.
std::string encode_rule(const rule::RuleRecord& rule, Instant now, std::int64_t wall_ms);
/// The rule, or a sentence that says why the octets are none.
std::expected<KeptRule, std::string> decode_rule(PolicyRuleId pid, std::string_view octets);

}  // namespace simco::middlebox
