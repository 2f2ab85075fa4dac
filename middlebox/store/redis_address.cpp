#include "middlebox/store/redis_address.hpp"

#include <optional>
#include <string_view>

#include "simco/wire/number.hpp"

namespace simco::store {
namespace {

/// Splits `text` at the first `mark`. Returns the part before it (all of `text` without a mark);
/// `text` becomes the rest.
std::string_view take_until(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const auto head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return head;
}

std::optional<std::string> read_setting(std::string_view setting, RedisAddress& address) {
  const auto name = take_until(setting, '=');
  if (name == "name" && !setting.empty()) {
    address.name = setting;
    return std::nullopt;
  }
  if (name == "replicas") {
    const auto replicas = parse_number(setting, 0, 100);
    if (replicas) address.replicas = *replicas;
    if (replicas) return std::nullopt;
  }
  return "expected name=NAME or replicas=N, got '" + std::string(name) + "'";
}

}  // namespace

std::expected<RedisAddress, std::string> parse_redis_address(const std::string& text) {
  constexpr std::string_view kScheme = "redis://";
  std::string_view rest = text;
  if (!rest.starts_with(kScheme)) return std::unexpected("must begin with redis://");
  rest.remove_prefix(kScheme.size());
  RedisAddress address;
  std::string_view settings = rest;
  rest = take_until(settings, '?');
  std::string_view path = rest;
  rest = take_until(path, '/');
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    std::string_view password = rest.substr(0, at);
    address.user = take_until(password, ':');
    address.password = password;
    rest.remove_prefix(at + 1);
  }
  std::string_view port;
  if (rest.starts_with('[') && rest.find(']') != std::string_view::npos) {
    port = rest.substr(rest.find(']') + 1);
    address.host = rest.substr(1, rest.find(']') - 1);
    if (!port.empty() && port.front() == ':') port.remove_prefix(1);
  } else {
    port = rest;
    address.host = take_until(port, ':');
  }
  if (address.host.empty()) return std::unexpected("missing host");
  if (!port.empty()) {
    const auto number = parse_number<std::uint16_t>(port, 1);
    if (!number) {
      return std::unexpected("expected a port from 1 to 65535, got '" + std::string(port) + "'");
    }
    address.port = *number;
  }
  if (!path.empty()) {
    const auto number = parse_number(path, 0, 1 << 20);
    if (!number) {
      return std::unexpected("expected a database number, got '" + std::string(path) + "'");
    }
    address.database = *number;
  }
  while (!settings.empty()) {
    if (const auto fault = read_setting(take_until(settings, '&'), address)) {
      return std::unexpected(*fault);
    }
  }
  return address;
}

}  // namespace simco::store
