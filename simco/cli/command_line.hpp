// The common part of all command lines: --help, --version, and messages about wrong usage with
// their remedies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simco::cli {

class Options;

/// Exit status after wrong usage.
inline constexpr int kWrongUsage = 2;

/// The text to print instead of running: help or version on standard output (status 0), or an error
/// message of one line on standard error (kWrongUsage).
struct UsageExit {
  std::string text;
  int code = kWrongUsage;
};

/// Returns the message about a wrong command line. `hint` names further reading; by default,
/// --help.
UsageExit wrong(const Options& options, const std::string& what, const char* hint = nullptr);
/// Prints the text. Returns the exit status.
int leave(const UsageExit& exit);
/// Prints a line on standard error: `program` and what is wrong.
void complain(const std::string& program, const std::string& what);

/// Sets the options from the arguments of main(); --help, --help-all (if there is more to show) and
/// --version need no rows. Returns the text to print instead of running, or nullopt.
std::optional<UsageExit> parse(Options& options, int argc, const char* const* argv);

/// Returns "; did you mean X?" for the one of `names` that `word` is most likely meant to be, or
/// nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace simco::cli
