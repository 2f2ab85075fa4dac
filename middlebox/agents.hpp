// The agents in the configuration file: `secret`, `secret-file` and the `[[agent]]` tables.
#pragma once

#include <expected>
#include <string>

#include "middlebox/policy/authorization.hpp"
#include "middlebox/toml.hpp"

namespace simco::middlebox {

struct Agents {
  policy::AgentDirectory directory = policy::AgentDirectory::open_to_all();
  std::string secret;  ///< the middlebox's own; empty: it has none
};

/// True for the keys of a configuration file that read_agents() reads.
bool is_agents_key(std::string_view key);

/// Reads the agents of the file `path`, parsed as `table`. Without any `[[agent]]` everybody may do
/// everything. The error is "path:line: what is wrong".
std::expected<Agents, std::string> read_agents(const toml::table& table, const std::string& path);

}  // namespace simco::middlebox
