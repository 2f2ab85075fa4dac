// Asks a middlebox what rules have counted.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "agent/rule_traffic.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::ctl {

/// Returns what the middlebox that tells it at `where` (its --inspect) says of `pids`. Blocks. The
/// error names the address and says what is wrong.
std::expected<agent::RuleTraffics, std::string> ask_what_is_counted(
    const net::HostPort& where, std::span<const PolicyRuleId> pids);

}  // namespace simco::ctl
