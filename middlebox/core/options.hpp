// Options of the middlebox that do not concern I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "middlebox/limits.hpp"
#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/rule_book.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::middlebox {

/// Security that a session requires; otherwise SE is refused with 0x0326.
enum class Require : std::uint8_t {
  kNone,  ///< only the requirements of the agents' configuration
  kSa,    ///< the agent must authenticate, by SA (RFC 4540 7.3) or by its certificate
  kTls,   ///< TLS, including the agent's certificate
};

struct CoreOptions : policy::EngineOptions {
  std::chrono::milliseconds message_timeout{60'000};
  std::uint32_t lifetime_max_s = policy::kLifetimeMaxDefault;
  std::uint32_t sessions_max = kSessionsMaxDefault;
  /// The agents and their rights.
  policy::AgentDirectory directory = policy::AgentDirectory::open_to_all();
  /// Maximum number of audit lines per second; 0: none.
  std::uint32_t audit_rate = kAuditRateDefault;
  /// Maximum number of connections and of associations without a session, see kGuestsMax.
  std::size_t guests_max = kGuestsMax;
  std::size_t association_guests_max = kAssociationGuestsMax;
  /// See kAuthenticationPenalty.
  std::chrono::seconds authentication_pause{kAuthenticationPenalty};
  /// Maximum size of all output queues together, octets; see kOutputTotalMax.
  std::size_t output_max = kOutputTotalMax;
  std::string secret;  ///< the middlebox's own; empty: it cannot authenticate
  /// The first PID and GID of a middlebox that has no stored rules. A random place keeps agents
  /// from taking a PID of the time before a restart for one of their rules.
  rule::IdPositions first_ids = {};
};

}  // namespace simco::middlebox
