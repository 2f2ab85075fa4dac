// What all programs have in common on their command lines: the layout of --help, and messages about
// wrong usage that say what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace simco::cli {

/// Group of the options of a transport that all programs share.
inline constexpr const char* kConnectionGroup = "Connection";
/// Group of the options that help_of() shows only with `all`.
inline constexpr const char* kExpertGroup = "SCTP";

/// Sets the layout of the help, with `examples` at its end.
void set_layout(CLI::App& app, const std::string& examples);
/// Returns the help: of `app` and, with `all`, of everything below it and for experts.
std::string help_of(CLI::App& app, bool all = false);

/// Returns what is wrong with a command line, for which `app` has thrown `error`.
std::string usage_fault(const CLI::App& app, const CLI::Error& error);

/// Returns "; did you mean X?" for the one of `names` that `word` is most likely meant to be, or
/// nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace simco::cli
