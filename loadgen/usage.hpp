// Parsing the command lines of the load generator's programs.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace simco::loadgen {

/// The text to print instead of running, and the exit status.
struct UsageExit {
  std::string text;
  int code = 2;
};

/// Returns a complaint of `program` about its command line, with exit status 2.
UsageExit wrong(const std::string& program, const std::string& what);
/// Parses the command line into what was declared to `app`, and adds `--version`. Returns what to
/// print instead of running, or nullopt.
std::optional<UsageExit> parse(CLI::App& app, const std::string& program, int argc,
                               const char* const* argv);

}  // namespace simco::loadgen
