// How an agent connects to a middlebox, and how it authenticates.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "simco/net/transport.hpp"
#include "simco/session/authentication.hpp"
#include "simco/session/limits.hpp"

namespace simco::agent {

/// Options of Agent and of everything below it.
struct AgentOptions {
  /// For open() as a whole, and for each transaction from its call to its reply.
  std::chrono::milliseconds timeout = kAgentTimeoutDefault;
  /// Our name and secret. Without them, open() fails with AgentError::kAuthenticationNeeded if the
  /// middlebox asks for them.
  std::optional<Credentials> credentials = {};
  /// Requires the middlebox to authenticate with this secret; if it fails, open() fails with
  /// AgentError::kMiddleboxNotAuthentic.
  std::optional<std::string> middlebox_secret = {};
  /// How to connect. With the userland SCTP stack all agents of a process share one
  /// executor, see NetError::kOtherEventLoop.
  net::TransportOptions transport = {};
};

}  // namespace simco::agent
