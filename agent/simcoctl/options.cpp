// Parses the command line of simcoctl.
#include "agent/simcoctl/options.hpp"

#include "agent/simcoctl/arguments.hpp"
#include "agent/simcoctl/command.hpp"

namespace simco::ctl {
namespace {

constexpr const char* kExamples =
    "  simcoctl enable --internal 10.0.0.5:5004/2 --external 192.0.2.7:6000/2 --udp\n"
    "  simcoctl list --full\n"
    "  simcoctl --connect box.example.org --name proxy1 --secret-file proxy1.secret watch\n"
    "COMMAND --help shows the options of a command, --help-all everything.";

Fault complete(Arguments& arguments, const std::string& chosen, Options& options) {
  options.json = arguments.json;
  if (auto fault = arguments.agent.read(options.target, options.agent)) return fault;
  if (auto fault = set_inspect(arguments, options.inspect)) return fault;
  if (chosen == "top") return set_top(arguments, options.top);
  return set_command(arguments, chosen, options.command);
}

}  // namespace

std::expected<Options, cli::UsageExit> parse_options(int argc, const char* const* argv) {
  Arguments arguments;
  cli::Options rows("simcoctl", "Command-line agent for SIMCO (RFC 4540) middleboxes", kExamples);
  declare(rows, arguments);
  if (const auto exit = cli::parse(rows, argc, argv)) return std::unexpected(*exit);
  Options options;
  if (const auto fault = complete(arguments, rows.chosen_command(), options)) {
    return std::unexpected(cli::wrong(rows, *fault));
  }
  return options;
}

}  // namespace simco::ctl
