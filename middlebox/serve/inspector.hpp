// The operator's questions to a running middlebox over HTTP: the counts of its rules. RFC 4540 has
// no attribute for that. Without authentication, so for trusted addresses only.
//
//   GET /rules/7,9
//   {"counting":true,"run":2918371042,"rules":[{"pid":7,"packets":150,"octets":30000,
//                          "last_packet":{"after_ms":2100,"until_ms":40},"complete_ms":61000,
//                          "read_ms":0,"ports":[{"port":5004,"packets":150,"octets":30000}]}]}
//
// Times are ages: milliseconds before the answer. Rules that do not exist are left out. `run` is
// another number after each start: counts begin at 0 then.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "middlebox/rule/rule_change.hpp"
#include "simco/http/server.hpp"
#include "simco/wire/ids.hpp"

namespace simco::middlebox {

/// The counts of the requested rules that are in force.
struct CountedRules {
  bool counting = false;  ///< the backend counts
  std::uint32_t run = 0;  ///< a random number of this process
  Instant now{};
  std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> rules;
};

/// Returns the answer as JSON.
std::string to_json(const CountedRules& counted);
/// Returns the rules that the path of a request names; nullopt if it is not of the form above, or
/// names more than kInspectedRulesMax.
std::optional<std::vector<PolicyRuleId>> rules_in(std::string_view path);

/// Counts the rules that a request names.
using Inspect = std::function<CountedRules(std::span<const PolicyRuleId>)>;

/// Returns a function that answers requests of the form above; `inspect` is called on the loop.
http::Handler inspector(Inspect inspect);

}  // namespace simco::middlebox
