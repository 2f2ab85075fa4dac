// Asks a middlebox for the counts of rules.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "agent/rule_traffic.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::ctl {

/// Returns the counts of `pids` from a middlebox's address `where` (its --inspect). Blocks. The
/// error has the address and the reason.
std::expected<agent::RuleTraffics, std::string> ask_what_is_counted(
    const net::HostPort& where, std::span<const PolicyRuleId> pids);

}  // namespace simco::ctl
