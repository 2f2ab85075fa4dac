#include "agent/rule_traffic.hpp"

#include <nlohmann/json.hpp>

namespace simco::agent {
namespace {

using nlohmann::json;

PacketCount count_in(const json& from) {
  return {from.at("packets").get<std::uint64_t>(), from.at("octets").get<std::uint64_t>()};
}

RuleTraffic::Age age_in(const json& from, const char* name) {
  return RuleTraffic::Age(from.at(name).get<std::int64_t>());
}

RuleTraffic traffic_in(const json& from) {
  RuleTraffic traffic;
  traffic.count = count_in(from);
  if (const auto last = from.find("last_packet"); last != from.end()) {
    traffic.last_packet = {age_in(*last, "after_ms"), age_in(*last, "until_ms")};
  }
  traffic.complete = age_in(from, "complete_ms");
  traffic.read = age_in(from, "read_ms");
  if (const auto ports = from.find("ports"); ports != from.end()) {
    for (const auto& port : *ports) {
      traffic.ports[port.at("port").get<std::uint16_t>()] = count_in(port);
    }
  }
  return traffic;
}

}  // namespace

std::string inspection_path(std::span<const PolicyRuleId> pids) {
  std::string path = "/rules/";
  for (const auto pid : pids) path += std::to_string(pid.value) + ",";
  path.pop_back();
  return path;
}

std::expected<RuleTraffics, std::string> read_inspection(std::string_view answer) {
  try {
    const auto document = json::parse(answer);
    if (!document.at("counting").get<bool>()) {
      return std::unexpected("the middlebox does not count: start it with --counters");
    }
    const auto run = document.at("run").get<std::uint32_t>();
    RuleTraffics result;
    for (const auto& rule : document.at("rules")) {
      auto& traffic = result[{rule.at("pid").get<std::uint32_t>()}] = traffic_in(rule);
      traffic.run = run;
    }
    return result;
  } catch (const json::exception&) {
    return std::unexpected("the server there is not a middlebox's --inspect");
  }
}

}  // namespace simco::agent
