// Options in a TOML file: a file's key is an option's long name, and what the command line says
// wins.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simco/cli/toml.hpp"

namespace CLI {
class App;
}

namespace simco::cli {

/// A configuration file, read.
struct ConfigFile {
  std::vector<std::string> words;  ///< "--name=value" for each option that `app` was not given
  toml::table table;               ///< all of it
};

/// How a program reads its file.
struct ConfigReader {
  std::vector<std::string> own_keys;  ///< that are not options; the program reads them itself
  /// Parses one word like "--name=value". Returns what is wrong with it.
  std::function<std::optional<std::string>(const std::string& word)> check;
  /// Returns where an unknown key belongs, if it belongs elsewhere in the file; may be empty.
  std::function<std::optional<std::string>(const std::string& key)> misplaced{};
};

/// Reads the file `path`; `app` has parsed the command line. Returns the error as "path:line: what
/// is wrong".
std::expected<ConfigFile, std::string> read_config_file(const std::string& path,
                                                        const CLI::App& app,
                                                        const ConfigReader& reader);

/// Returns the value of every option of `app` by its name, as text.
std::map<std::string, std::string> effective_options(const CLI::App& app);

}  // namespace simco::cli
