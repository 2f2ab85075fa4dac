// What simcoctl's command line says, as it is typed: options with their defaults, and commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"

namespace CLI {
class App;
}

namespace simco::ctl {

/// The values of all options and arguments, of whatever command.
struct Arguments {
  agent::AgentArguments agent{"connect", 10};
  bool json = false;

  std::string internal;
  std::string external;
  bool udp = false;
  bool tcp = false;
  bool sctp = false;
  std::string protocol;
  std::uint32_t lifetime_s = 120;
  std::string direction;
  bool same_parity = false;
  std::uint32_t group = 0;
  std::uint32_t after = 0;
  std::string ports = "1";
  std::string parity = "any";
  bool twice = false;
  bool ipv4 = false;
  bool ipv6 = false;
  bool any_version = false;
  std::vector<std::uint32_t> pids;
  std::uint32_t pid = 0;
  bool in_full = false;
  std::uint64_t count = 0;
  std::string metrics = "127.0.0.1:9464";
  std::string inspect;
  double interval_s = 1;
  bool inbound = false;
  bool outbound = false;
};

/// The commands, each of which knows whether it was given.
struct Commands {
  CLI::App* enable;
  CLI::App* reserve;
  CLI::App* disable;
  CLI::App* lifetime;
  CLI::App* remove;
  CLI::App* status;
  CLI::App* list;
  CLI::App* watch;
  CLI::App* top;
  CLI::App* explain;
};

/// Declares all options and commands. `arguments` must outlive `app`.
Commands declare(CLI::App& app, Arguments& arguments);

}  // namespace simco::ctl
