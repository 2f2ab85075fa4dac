// The listeners in the configuration file: `[[listener]]` tables.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/serve/options.hpp"
#include "simco/cli/toml.hpp"

namespace simco::middlebox {

/// Reads the `[[listener]]` tables of the file `path`, parsed as `table`; keys that they omit are
/// as in `like`. Returns the error as "path:line: complaint".
std::expected<std::vector<ListenerSettings>, std::string> read_listeners(
    const toml::table& table, const std::string& path, const ListenerSettings& like);

/// Parses "none", "sa" or "tls".
std::optional<Require> parse_require(std::string_view text);

}  // namespace simco::middlebox
