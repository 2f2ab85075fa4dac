// Where the middlebox listens, and what each listener demands of agents.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/toml.hpp"
#include "simco/net/listener.hpp"

namespace simco::middlebox {

/// What a connection has to have for a session to be established; else SE gets 0x0326.
enum class Require : std::uint8_t {
  kNone,  ///< what the agents' configuration says, and no more
  kSa,    ///< the agent has to prove who it is, by SA (RFC 4540 7.3) or by its certificate
  kTls,   ///< TLS, and so the agent's certificate
};

std::optional<Require> parse_require(std::string_view text);

struct ListenerSettings {
  net::ListenOptions listen;
  Require require = Require::kNone;
};

/// True for the key of a configuration file that read_listeners() reads.
inline bool is_listeners_key(std::string_view key) { return key == "listener"; }

/// The `[[listener]]` tables of the file `path`, parsed as `table`; what they leave out is as in
/// `like`. The error is "path:line: what is wrong".
std::expected<std::vector<ListenerSettings>, std::string> read_listeners(
    const toml::table& table, const std::string& path, const ListenerSettings& like);

}  // namespace simco::middlebox
