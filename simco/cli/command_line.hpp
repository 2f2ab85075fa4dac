// The common part of all command lines: --help, --version, and messages about wrong usage with
// their remedies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace simco::cli {

/// Exit status after wrong usage.
inline constexpr int kWrongUsage = 2;

/// The text to print instead of running: help or version on standard output (status 0), or an error
/// message of one line on standard error (kWrongUsage).
struct UsageExit {
  std::string text;
  int code = kWrongUsage;
};

/// Returns what is said about a wrong command line of the program that has the name of `app`.
/// `hint` says where to read on; by default, in --help.
UsageExit wrong(const CLI::App& app, const std::string& what, const char* hint = nullptr);
/// Prints what to print instead of running. Returns the exit status.
int leave(const UsageExit& exit);
/// Prints a line on standard error: `program` and what is wrong.
void complain(const std::string& program, const std::string& what);

/// Group of the options of a transport that all programs share.
inline constexpr const char* kConnectionGroup = "Connection";
/// Returns the group of the options that tune a transport: its name in capitals. --help-all shows
/// these groups, --help does not.
std::string transport_group(std::string_view transport);

/// Sets the layout of the help, with `examples` at its end.
void set_layout(CLI::App& app, const std::string& examples);
/// Declares --version, --help and, if a transport is declared, --help-all of the program that has
/// the name of `app`, with what they print.
void declare_help(CLI::App& app, const std::string& help = "Print this help",
                  const std::string& help_all = "Print this help, with what tunes a transport");

/// Parses `words`, what follows the program's name, into what was declared to `app`. Returns what
/// to print instead of running, or nullopt.
std::optional<UsageExit> parse(CLI::App& app, std::vector<std::string> words);
/// The same for the arguments of main().
std::optional<UsageExit> parse(CLI::App& app, int argc, const char* const* argv);
/// Returns what is wrong with `word` as the only one that `app` is given.
std::optional<std::string> word_fault(CLI::App& app, const std::string& word);

/// Returns "; did you mean X?" for the one of `names` that `word` is most likely meant to be, or
/// nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace simco::cli
