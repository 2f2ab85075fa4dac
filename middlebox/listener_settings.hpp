// Where a middlebox listens, and which security it requires there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "simco/net/listener.hpp"

namespace simco::middlebox {

/// Security that a session requires; otherwise SE is refused with 0x0326.
enum class Require : std::uint8_t {
  kNone,  ///< only what the agents' configuration requires
  kSa,    ///< the agent must authenticate, by SA (RFC 4540 7.3) or by its certificate
  kTls,   ///< TLS, including the agent's certificate
};

/// Parses "none", "sa" or "tls".
std::optional<Require> parse_require(std::string_view text);

/// One listener of the configuration.
struct ListenerSettings {
  net::ListenOptions listen;
  Require require = Require::kNone;
};

}  // namespace simco::middlebox
