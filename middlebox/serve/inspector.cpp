// Reads paths and writes JSON.
#include "middlebox/serve/inspector.hpp"

#include <fmt/format.h>

#include <chrono>

#include "middlebox/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::middlebox {
namespace {

std::int64_t age_ms(Instant at, Instant now) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - at).count();
}

std::string in_json(const PacketCount& count) {
  return fmt::format(R"("packets":{},"octets":{})", count.packets, count.octets);
}

std::string rule_in_json(PolicyRuleId pid, const rule::RuleTraffic& traffic, Instant now) {
  auto text = fmt::format(R"({{"pid":{},{})", pid.value, in_json(traffic.count));
  if (traffic.last_packet) {
    text += fmt::format(R"(,"last_packet":{{"after_ms":{},"until_ms":{}}})",
                        age_ms(traffic.last_packet->after, now),
                        age_ms(traffic.last_packet->until, now));
  }
  text += fmt::format(R"(,"complete_ms":{},"read_ms":{})", age_ms(traffic.complete_since, now),
                      age_ms(traffic.read_at, now));
  const char* before = R"(,"ports":[)";
  for (const auto& [port, count] : traffic.ports) {
    text += fmt::format(R"({}{{"port":{},{}}})", before, port, in_json(count));
    before = ",";
  }
  return text + (traffic.ports.empty() ? "}" : "]}");
}

}  // namespace

std::string to_json(const CountedRules& counted) {
  std::string text =
      fmt::format(R"({{"counting":{},"run":{},"rules":[)", counted.counting, counted.run);
  const char* before = "";
  for (const auto& [pid, traffic] : counted.rules) {
    text += before + rule_in_json(pid, traffic, counted.now);
    before = ",";
  }
  return text + "]}\n";
}

std::optional<std::vector<PolicyRuleId>> rules_in(std::string_view path) {
  constexpr std::string_view kBegin = "/rules/";
  if (!path.starts_with(kBegin)) return std::nullopt;
  path.remove_prefix(kBegin.size());
  std::vector<PolicyRuleId> pids;
  for (;;) {
    const auto comma = path.find(',');
    const auto pid = parse_number<std::uint32_t>(path.substr(0, comma));
    if (!pid || pids.size() == kInspectedRulesMax) return std::nullopt;
    pids.push_back({*pid});
    if (comma == std::string_view::npos) return pids;
    path.remove_prefix(comma + 1);
  }
}

http::Handler inspector(Inspect inspect) {
  return [inspect = std::move(inspect)](std::string_view path) -> http::Response {
    if (const auto pids = rules_in(path)) return {200, to_json(inspect(*pids)), "application/json"};
    return {404,
            fmt::format("ask for /rules/PID[,PID]..., {} rules at most\n", kInspectedRulesMax)};
  };
}

}  // namespace simco::middlebox
