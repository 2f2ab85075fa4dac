// The authentication that a listener of the configuration requires.
#pragma once

#include <cstdint>

namespace simco::middlebox {

/// Security that a session requires; otherwise SE is refused with 0x0326.
enum class Require : std::uint8_t {
  kNone,  ///< only the requirements of the agents' configuration
  kSa,    ///< the agent must authenticate, by SA (RFC 4540 7.3) or by its certificate
  kTls,   ///< TLS, including the agent's certificate
};

}  // namespace simco::middlebox
