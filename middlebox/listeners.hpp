// The listeners that a configuration file names.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/listener_settings.hpp"
#include "middlebox/toml.hpp"

namespace simco::middlebox {

/// True for the key of a configuration file that read_listeners() reads.
inline bool is_listeners_key(std::string_view key) { return key == "listener"; }

/// The `[[listener]]` tables of the file `path`, parsed as `table`; what they leave out is as in
/// `like`. The error is "path:line: what is wrong".
std::expected<std::vector<ListenerSettings>, std::string> read_listeners(
    const toml::table& table, const std::string& path, const ListenerSettings& like);

}  // namespace simco::middlebox
