// Values that the command line leaves out, and that a user keeps for all commands: in variables of
// the environment and in TOML files, both named like the options.
#pragma once

#include <string>
#include <vector>

#include "simco/cli/options.hpp"

namespace simco::cli {

/// Where a program looks for kept values.
struct KeptValues {
  /// The prefix of the variables: with "SIMCO_", SIMCO_SECRET_FILE has the value of --secret-file.
  std::string prefix;
  /// The files, the first one wins; a file that does not exist is skipped.
  std::vector<std::string> files;
};

/// The options --config and --profile, which name the file and the part of it to use.
struct KeptArguments {
  std::string config;
  std::string profile;
};
void declare_kept(Options& options, KeptArguments& arguments, const KeptValues& kept);

/// Sets the options of the program and its command that the command line, which was parsed before,
/// has not: from the profile that it names, the environment, the profile that the environment
/// names, and the files outside their profiles. Returns a complaint, or nothing.
Fault read_kept_values(Options& options, const KeptArguments& arguments, const KeptValues& kept);

/// Returns `fault`, which begins with the name of an option, and where that option's value is from
/// if it is not from the command line.
std::string with_source(Options& options, std::string fault);

}  // namespace simco::cli
