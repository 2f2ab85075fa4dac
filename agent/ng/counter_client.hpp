// Asks a middlebox over HTTP what rules have counted (its --inspect).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <vector>

#include "agent/ng/controller.hpp"

namespace simco::ng {

/// Returns what the middlebox that tells it at `where` says of `pids`, in requests of
/// agent::kInspectedRulesMax, each of which takes kCountersPatience at most.
boost::asio::awaitable<CallController::Counted> ask_what_is_counted(
    boost::asio::ip::tcp::endpoint where, std::vector<PolicyRuleId> pids);

}  // namespace simco::ng
