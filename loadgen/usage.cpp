#include "loadgen/usage.hpp"

#include <CLI/CLI.hpp>

#include "simco/cli/command_line.hpp"

namespace simco::loadgen {

UsageExit wrong(const std::string& program, const std::string& what) {
  return {program + ": " + what + " (--help lists the options)\n", 2};
}

std::optional<UsageExit> parse(CLI::App& app, const std::string& program, int argc,
                               const char* const* argv) {
  app.option_defaults()->group("Other");
  app.set_help_flag("-h,--help", "Print this help")->group("Other");
  app.set_version_flag("-V,--version", program + " " SIMCO_VERSION, "Print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return UsageExit{app.help(), 0};
  } catch (const CLI::CallForVersion& version) {
    return UsageExit{std::string(version.what()) + "\n", 0};
  } catch (const CLI::Error& error) {
    return wrong(program, cli::usage_fault(app, error));
  }
  return std::nullopt;
}

}  // namespace simco::loadgen
