// Reads `[[listener]]` tables key by key. Each reader returns a complaint about a value, to which
// the file, the line and the key are added.
#include "middlebox/config/listeners_file.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string_view>

#include "simco/net/transport_type.hpp"

namespace simco::middlebox {
namespace {

/// A complaint, or nothing.
using Fault = std::optional<std::string>;

/// A text, or a list of texts.
std::optional<std::vector<std::string>> texts_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return std::vector{text->get()};
  const auto* list = node.as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  std::vector<std::string> result;
  for (const auto& item : *list) {
    const auto* text = item.as_string();
    if (text == nullptr) return std::nullopt;
    result.push_back(text->get());
  }
  return result;
}

Fault read_transport(const toml::node& node, net::ListenOptions& listen) {
  const auto texts = texts_of(node);
  const auto fault = Fault("must be \"" + net::transport_names("\", \"") + "\" or a list of these");
  if (!texts) return fault;
  listen.transports.clear();
  for (const auto& text : *texts) {
    const auto transport = net::find_transport(text);
    if (!transport) return fault;
    listen.transports.push_back(*transport);
  }
  return std::nullopt;
}

Fault read_key(std::string_view key, const toml::node& node, ListenerSettings& settings) {
  if (key == "transport") return read_transport(node, settings.listen);
  if (key == "listen") {
    const auto texts = texts_of(node);
    if (!texts) return "must be an address or a list of addresses";
    settings.listen.addresses = *texts;
    return std::nullopt;
  }
  if (key == "port") {
    const auto port = node.value<std::int64_t>().value_or(-1);
    if (port < 0 || port > std::numeric_limits<std::uint16_t>::max()) {
      return "must be a number from 0 to 65535";
    }
    settings.listen.port = static_cast<std::uint16_t>(port);
    return std::nullopt;
  }
  if (key == "require") {
    const auto text = node.value<std::string>().value_or("");
    for (const auto& [name, require] : require_values()) {
      if (text != name) continue;
      settings.require = require;
      return std::nullopt;
    }
    return "must be \"none\", \"sa\" or \"tls\"";
  }
  return "is not a valid key for a listener";
}

}  // namespace

std::vector<std::pair<std::string, Require>> require_values() {
  return {{"none", Require::kNone}, {"sa", Require::kSa}, {"tls", Require::kTls}};
}

std::expected<std::vector<ListenerSettings>, std::string> read_listeners(
    const toml::table& table, const std::string& path, const ListenerSettings& like) {
  std::vector<ListenerSettings> result;
  const auto* node = table.get("listener");
  if (node == nullptr) return result;
  const auto wrong = [&](const toml::node& where, const std::string& what) {
    return std::unexpected(cli::at_line(path, where, what));
  };
  const auto* list = node->as_array();
  if (list == nullptr) return wrong(*node, "listeners must be written as [[listener]] tables");
  for (const auto& item : *list) {
    const auto* one = item.as_table();
    if (one == nullptr) return wrong(item, "listeners must be written as [[listener]] tables");
    auto& settings = result.emplace_back(like);
    for (const auto& [key, value] : *one) {
      if (const auto fault = read_key(key.str(), value, settings)) {
        return wrong(value, fmt::format("'{}' {}", key.str(), *fault));
      }
    }
  }
  return result;
}

}  // namespace simco::middlebox
