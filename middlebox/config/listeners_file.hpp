// Listeners of the configuration file: its `[[listener]]` tables.
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/serve/options.hpp"
#include "simco/cli/toml.hpp"

namespace simco::middlebox {

/// Reads the `[[listener]]` tables of the file `path`, parsed as `table`; keys that they omit are
/// as in `like`. Returns the error as "path:line: complaint".
std::expected<std::vector<ListenerSettings>, std::string> read_listeners(
    const toml::table& table, const std::string& path, const ListenerSettings& like);

/// The values of --require by their names.
std::vector<std::pair<std::string, Require>> require_values();

}  // namespace simco::middlebox
