// How an agent reaches a middlebox, and who it is.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "simco/net/transport.hpp"
#include "simco/session/authentication.hpp"
#include "simco/session/limits.hpp"

namespace simco::agent {

struct AgentOptions {
  /// For open() as a whole, and for each transaction from its call to its reply.
  std::chrono::milliseconds timeout = kAgentTimeoutDefault;
  /// Our name and secret, for a middlebox that asks; without, open() then fails with
  /// AgentError::kAuthenticationNeeded.
  std::optional<Credentials> credentials = {};
  /// Makes the middlebox prove that it knows this; if it cannot, open() fails with
  /// AgentError::kMiddleboxNotAuthentic.
  std::optional<std::string> middlebox_secret = {};
  /// How the middlebox is reached. With the userland SCTP stack all agents of a process share one
  /// executor, see NetError::kOtherEventLoop.
  net::TransportOptions transport = {};
};

}  // namespace simco::agent
