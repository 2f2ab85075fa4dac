// enable --for-me: a rule between the middlebox's machine and this one, by the addresses that the
// session will have.
#pragma once

#include <optional>
#include <string>

#include "agent/options.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/wire/messages.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::ctl {

/// The sides of the rule; without a prefix, the internal side is the middlebox's address, and the
/// external one this machine's.
struct ForMe {
  std::uint8_t protocol = 0;
  Endpoint internal;
  Endpoint external;
};

/// Resolves `target` and sets it to the address that it is reached at, and the sides of `request`.
/// Blocks. Returns a complaint if that cannot be.
std::optional<std::string> set_sides(const ForMe& wanted, net::HostPort& target,
                                     agent::AgentOptions& options, PerRequest& request);

}  // namespace simco::ctl
