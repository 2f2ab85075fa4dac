// How an agent connects to a middlebox, and how it authenticates.
#pragma once

#include <boost/system/error_code.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "simco/net/transport.hpp"
#include "simco/session/authentication.hpp"
#include "simco/session/limits.hpp"

namespace simco::agent {

/// How an agent opens its session again after it was lost.
struct Reconnect {
  /// Before the first attempt; doubled before each further attempt. Half of each delay is random.
  std::chrono::milliseconds delay_first = kReconnectDelayFirst;
  std::chrono::milliseconds delay_max = kReconnectDelayMax;
  /// Called on the agent's executor when the session was lost and after each attempt that failed,
  /// with the reason, and without an error when a session is open again.
  std::function<void(const boost::system::error_code&)> on_change = {};
};

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
  /// How to connect. With the userland SCTP stack all agents of a process share an executor, see
  /// NetError::kOtherEventLoop.
  net::TransportOptions transport = {};
  /// Opens the session again whenever it ends other than by close(), until close(); the first
  /// open() is not repeated. Requests made meanwhile wait for the session, up to `timeout`; those
  /// in flight at the loss fail, because the middlebox may have carried them out. Pinholes are
  /// looked for in the new session. nullopt: a lost session is the caller's affair.
  std::optional<Reconnect> reconnect = {};
};

}  // namespace simco::agent
