// The options of programs that are agents: the connection to a middlebox, and the agent's name and
// secret.
#pragma once

#include <optional>
#include <string>

#include "agent/options.hpp"
#include "simco/cli/transport_arguments.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::agent {

/// The values of the options. Must exist as long as the CLI::App to which they were declared.
class AgentArguments {
 public:
  /// `connect`: the name of the option for the middlebox's address. `timeout_s`: the default.
  AgentArguments(std::string connect, double timeout_s)
      : connect_name_(std::move(connect)), timeout_s_(timeout_s) {}

  void declare(CLI::App& app);
  /// Reads the options after parsing, and the files that they name. Returns an error message, or
  /// nullopt.
  std::optional<std::string> read(net::HostPort& target, AgentOptions& options);

 private:
  std::string connect_name_;
  std::string connect_ = "127.0.0.1:7626";
  cli::TransportArguments transport_;
  std::string name_;
  std::string secret_file_;
  std::string middlebox_secret_file_;
  double timeout_s_;
};

}  // namespace simco::agent
