// Parses the command line of simcoctl.
#include "agent/simcoctl/options.hpp"

#include <CLI/CLI.hpp>

#include "agent/simcoctl/arguments.hpp"
#include "agent/simcoctl/command.hpp"
#include "simco/cli/command_line.hpp"

namespace simco::ctl {
namespace {

Fault set_globals(Arguments& arguments, Options& options) {
  options.json = arguments.json;
  return arguments.agent.read(options.target, options.agent);
}

}  // namespace

std::expected<Options, cli::UsageExit> parse_options(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Command-line agent for SIMCO (RFC 4540) middleboxes", "simcoctl");
  const auto commands = declare(app, arguments);
  if (const auto exit = cli::parse(app, argc, argv)) return std::unexpected(*exit);
  Options options;
  if (const auto fault = set_globals(arguments, options)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  if (const auto fault = set_inspect(arguments, options.inspect)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  if (const auto fault = set_top(arguments, commands, options.top)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  if (const auto fault = set_command(arguments, commands, options.command)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  return options;
}

}  // namespace simco::ctl
