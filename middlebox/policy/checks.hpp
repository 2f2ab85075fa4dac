// The checks on address tuples that PER, PEA and PDR have in common (RFC 4540 sections 8.3.1, 8.4.1
// and 8.8.2). Pure functions over the request and the middlebox's capabilities.
#pragma once

#include <bitset>
#include <optional>

#include "simco/wire/attributes.hpp"
#include "simco/wire/ip.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::policy {

/// Transport protocols, by their IANA numbers.
using Protocols = std::bitset<256>;

/// Returns the negative reply for the first check that the pair of tuples fails, in this order:
/// locations, protocols, IP versions, prefix lengths, port ranges, direction, wildcards, protocol
/// supported, ports with a protocol that has none. `direction` is kInbound if the request has none.
/// `supported` includes kProtocolAny if the protocol may be wildcarded.
std::optional<NegativeReplyCode> check_tuples(const AddressTuple& internal,
                                              const AddressTuple& external, Direction direction,
                                              const Capabilities& capabilities,
                                              const Protocols& supported);

/// Returns the protocols that a NAT can translate: those with ports, and whole addresses (protocol
/// 0).
Protocols translatable_protocols();

}  // namespace simco::policy
