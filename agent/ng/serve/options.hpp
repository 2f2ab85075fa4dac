// Command line and configuration file of simco-ng.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "agent/ng/call/exchange.hpp"
#include "agent/ng/serve/limits.hpp"
#include "agent/options.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::ng {

/// Everything that main needs to build the program.
struct Settings {
  net::HostPort listen{"127.0.0.1", kNgPortDefault};  ///< an address
  std::vector<IpPrefix> allowed;  ///< senders of requests, in addition to this host
  net::HostPort middlebox;
  agent::AgentOptions agent;
  std::optional<net::HostPort> upstream;  ///< a media proxy to pass requests on to: an address
  CallOptions calls;
  /// The address at which the middlebox serves rule counters.
  std::optional<net::HostPort> inspect;
  std::string state;    ///< file to store calls in; empty: none
  std::string metrics;  ///< ADDRESS:PORT to serve metrics at; empty: none
  std::string log_level = "info";
  bool check_only = false;
  /// Each option by its name, as text: to detect changes on a reload.
  std::map<std::string, std::string> options;
};

/// Parses the command line and the configuration file that it names.
std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv);

}  // namespace simco::ng
