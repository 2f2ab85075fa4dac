// Why a request was refused, in words for the log. A reply has only its code.
#pragma once

#include <string>

#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/checks.hpp"

namespace simco::policy {

/// Returns which right of the agent with `policy` does not cover the tuples; empty if all do.
std::string missing_right(const AgentPolicy& policy, const AddressTuple& internal,
                          const AddressTuple& external);

/// Returns the fault of a pair of tuples for which check_tuples(), called with the same arguments,
/// returns `code`; empty if the code suffices.
std::string tuple_fault(const AddressTuple& internal, const AddressTuple& external,
                        Direction direction, const Capabilities& capabilities,
                        const Protocols& supported, NegativeReplyCode code);

/// Returns the RFC's name of a transaction, such as "PER".
std::string_view name_of(Transaction transaction);

}  // namespace simco::policy
