// What simcoctl's command line says, as it is typed: options with their defaults, and commands.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "simco/cli/kept_values.hpp"
#include "simco/cli/options.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::ctl {

/// The values of all options and arguments, of whatever command.
struct Arguments {
  agent::AgentArguments agent{"connect", std::chrono::seconds(10)};
  cli::KeptArguments kept;
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
  std::optional<std::uint32_t> group;
  std::optional<std::uint32_t> after;
  std::optional<ProtocolPorts> for_me;
  std::vector<std::string> program;
  std::string ports = "1";
  std::string parity = "any";
  bool twice = false;
  bool ipv4 = false;
  bool ipv6 = false;
  bool any_version = false;
  std::vector<PolicyRuleId> pids;
  std::uint32_t pid = 0;
  bool in_full = false;
  bool only_pids = false;
  std::uint64_t count = 0;
  std::string metrics = "127.0.0.1:9464";
  std::string inspect;
  std::chrono::milliseconds interval{1000};
  bool inbound = false;
  bool outbound = false;
};

/// Declares all options and commands. `arguments` must outlive `options`.
void declare(cli::Options& options, Arguments& arguments, const cli::KeptValues& kept);

}  // namespace simco::ctl
