// Command line of simcoctl.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/agent.hpp"
#include "agent/simcoctl/top.hpp"

namespace simco::ctl {

struct Lifetimes {
  PolicyRuleId pid;
  Lifetime lifetime;
};
struct Delete {
  std::vector<PolicyRuleId> pids;
};
struct Status {
  std::vector<PolicyRuleId> pids;
};
struct List {
  bool in_full = false;  ///< with the status of each rule
};
struct Watch {
  std::uint64_t count = 0;  ///< events after which to end; 0: none
};

/// What to do: a request as it goes out, or one of the above.
using Command = std::variant<PerRequest, PeaRequest, PrrRequest, PdrRequest, Lifetimes, Delete,
                             Status, List, Watch>;

struct Options {
  net::HostPort target{"127.0.0.1", kSimcoPort};
  agent::Agent::Options agent;
  bool json = false;
  Command command;
  std::optional<Top> top;  ///< instead of the command: no session is needed
};

/// What to print instead of running, and the exit code.
struct UsageExit {
  std::string text;
  int code = 2;
};

std::expected<Options, UsageExit> parse_options(int argc, const char* const* argv);

}  // namespace simco::ctl
