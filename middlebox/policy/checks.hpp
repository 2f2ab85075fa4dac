// The checks on address tuples that PER, PEA and PDR have in common (RFC 4540 sections 8.3.1, 8.4.1
// and 8.8.2). Pure functions over the request and the middlebox's capabilities.
#pragma once

#include <optional>

#include "simco/wire/attributes.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::policy {

/// First check that the pair of tuples fails, in this order: locations, protocols, IP versions,
/// prefix lengths, port ranges, direction, wildcards. `direction` is kInbound where the request has
/// none.
std::optional<NegativeReplyCode> check_tuples(const AddressTuple& internal,
                                              const AddressTuple& external, Direction direction,
                                              const Capabilities& capabilities);

/// True where ports mean something: a full address with a transport protocol and a port.
bool has_ports(const AddressTuple& tuple);

}  // namespace simco::policy
