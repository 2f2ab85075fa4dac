#include "loadgen/usage.hpp"

#include <CLI/CLI.hpp>

namespace simco::loadgen {

UsageExit wrong(const std::string& program, const std::string& what) {
  return {program + ": " + what + " (--help lists the options)\n", 2};
}

std::optional<UsageExit> parse(CLI::App& app, const std::string& program, int argc,
                               const char* const* argv) {
  app.set_version_flag("--version", program + " " SIMCO_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return UsageExit{app.help(), 0};
  } catch (const CLI::CallForVersion& version) {
    return UsageExit{std::string(version.what()) + "\n", 0};
  } catch (const CLI::Error& error) {
    return wrong(program, error.what());
  }
  return std::nullopt;
}

}  // namespace simco::loadgen
