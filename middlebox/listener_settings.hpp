// Where a middlebox listens, and what it demands of agents there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "simco/net/listener.hpp"

namespace simco::middlebox {

/// What a connection has to have for a session to be established; else SE gets 0x0326.
enum class Require : std::uint8_t {
  kNone,  ///< what the agents' configuration says, and no more
  kSa,    ///< the agent has to prove who it is, by SA (RFC 4540 7.3) or by its certificate
  kTls,   ///< TLS, and so the agent's certificate
};

std::optional<Require> parse_require(std::string_view text);

struct ListenerSettings {
  net::ListenOptions listen;
  Require require = Require::kNone;
};

}  // namespace simco::middlebox
