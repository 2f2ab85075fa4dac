// Values that the command line leaves out, and that a user keeps for all commands: in variables of
// the environment and in TOML files, both named like the options.
#pragma once

#include <string>
#include <vector>

#include "simco/cli/options.hpp"

namespace simco::cli {

/// Where a program looks for kept values. Its commands have none.
struct KeptValues {
  /// The prefix of the variables: with "SIMCO_", SIMCO_SECRET_FILE has the value of --secret-file.
  std::string prefix;
  /// The files, the first one wins; a file that does not exist is skipped.
  std::vector<std::string> files;
  std::string files_in_help;  ///< their names as the help has them
};

/// The options --config and --profile, which name the file and the part of it to use.
struct KeptArguments {
  std::string config;
  std::string profile;
};
void declare_kept(Options& options, KeptArguments& arguments, const KeptValues& kept);

/// Sets the options that the command line, which was parsed before, has not: if it names a profile,
/// from that alone; otherwise from the environment, and then from the profile that it names or from
/// the files outside their profiles. Returns a complaint, or nothing.
Fault read_kept_values(Options& options, const KeptArguments& arguments, const KeptValues& kept);

/// Returns `fault`, and where the values of the options that it names are from, if they are kept.
std::string with_sources(const Options& options, std::string fault);

}  // namespace simco::cli
