// Command line of simcoctl.
#pragma once

#include <expected>
#include <optional>
#include <variant>
#include <vector>

#include "agent/agent.hpp"
#include "agent/simcoctl/explain.hpp"
#include "agent/simcoctl/for_me.hpp"
#include "agent/simcoctl/top.hpp"
#include "simco/cli/command_line.hpp"

namespace simco::ctl {

/// lifetime PID SECONDS
struct Lifetimes {
  PolicyRuleId pid;
  Lifetime lifetime;
};
/// delete PID...
struct Delete {
  std::vector<PolicyRuleId> pids;
};
/// status PID...
struct Status {
  std::vector<PolicyRuleId> pids;
};
/// list [--pids]
struct List {
  bool only_pids = false;  ///< instead of the status of each rule
};
/// watch [--full] [--count N]
struct Watch {
  bool in_full = false;     ///< with the status of the rule
  std::uint64_t count = 0;  ///< exit after this many events; 0: never
};

/// The command: a request as it is sent, or one of the above.
using Command = std::variant<PerRequest, PeaRequest, PrrRequest, PdrRequest, Lifetimes, Delete,
                             Status, List, Watch, Explain>;

/// The parsed command line.
struct Settings {
  net::HostPort target{"127.0.0.1", kSimcoPort};
  agent::AgentOptions agent;
  bool json = false;
  Command command;
  std::optional<ForMe> for_me;       ///< completes `command`, a PerRequest, see set_sides()
  std::vector<std::string> program;  ///< to run while the rule of `command` is kept; empty: none
  std::optional<net::HostPort> inspect;  ///< where to ask what rules have counted
  std::optional<Top> top;                ///< instead of `command`; needs no session
};

/// Parses the command line and reads the files that it names.
std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv);

}  // namespace simco::ctl
