// Agents of the configuration file: `secret`, `secret-file` and the `[[agent]]` tables.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "middlebox/policy/authorization.hpp"
#include "simco/cli/toml.hpp"

namespace simco::middlebox {

/// Agents and secrets of a configuration.
struct Agents {
  policy::AgentDirectory directory = policy::AgentDirectory::open_to_all();
  std::string secret;                     ///< the middlebox's own; empty: none
  std::vector<std::string> secret_files;  ///< that any secret is in
};

/// True for the keys of an `[[agent]]` table.
bool is_agent_key(std::string_view key);

/// Reads the agents of the file `path`, parsed as `table`. Without any `[[agent]]`, every agent may
/// do everything. Returns the error as "path:line: complaint".
std::expected<Agents, std::string> read_agents(const toml::table& table, const std::string& path);

}  // namespace simco::middlebox
