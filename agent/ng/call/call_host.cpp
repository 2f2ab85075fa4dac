#include "agent/ng/call/call_host.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace simco::ng {

void CallHost::log_call(const std::string& call_id, LogLevel level, const std::string& text) {
  using nlohmann::json;
  // As a JSON string, a call-id of any octets is a single line.
  const auto id = json(call_id).dump(-1, ' ', true, json::error_handler_t::replace);
  log(level, fmt::format("call {}: {}", id, text));
}

}  // namespace simco::ng
