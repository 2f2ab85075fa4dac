// Options in a TOML file: a file's key is an option's long name, and what the command line says
// wins.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simco/cli/toml.hpp"

namespace simco::cli {

class Options;

/// The keys of a file besides options.
struct ConfigReader {
  std::vector<std::string> own_keys{};  ///< the program reads them itself
  /// Returns where an unknown key belongs, if it belongs elsewhere in the file; may be empty.
  std::function<std::optional<std::string>(const std::string& key)> misplaced{};
};

/// Reads a TOML file. The error is "path:line: what is wrong".
std::expected<toml::table, std::string> parse_config_file(const std::string& path);

/// Sets the options that `table` of the file `path` has and that have no value yet. Returns a
/// complaint, or nothing.
std::optional<std::string> take_table(const toml::table& table, const std::string& path,
                                      Options& options, const ConfigReader& reader = {});

/// Sets the options that the file `path` has and the command line, which was parsed before, has
/// not. Returns the file, or the error as "path:line: what is wrong".
std::expected<toml::table, std::string> read_config_file(const std::string& path, Options& options,
                                                         const ConfigReader& reader = {});

}  // namespace simco::cli
