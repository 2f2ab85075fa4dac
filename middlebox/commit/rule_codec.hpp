// Encodes a policy rule for a store: a version, followed by the attributes of RFC 4540 section 4.3
// in their own encoding.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "middlebox/rule/rule_record.hpp"

namespace simco::middlebox {

/// A rule and its end by the wall clock, which a reboot does not change.
struct KeptRule {
  /// The owner's name is a view of the decoded octets; owner number and expires_at are not set.
  rule::RuleRecord rule;
  Lifetime left;                ///< when it was stored: the rule never lives longer than this
  std::int64_t ends_at_ms = 0;  ///< milliseconds since 1970-01-01 00:00 UTC
};

/// Returns the rule as of `now`, which is `wall_ms` by the wall clock (as KeptRule::ends_at_ms).
/// Never empty.
std::string encode_rule(const rule::RuleRecord& rule, Instant now, std::int64_t wall_ms);
/// Returns the rule, or an error message if the octets are invalid.
std::expected<KeptRule, std::string> decode_rule(PolicyRuleId pid, std::string_view octets);

}  // namespace simco::middlebox
