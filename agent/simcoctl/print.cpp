// Prints the result of each command: as one line of text, or as one line of JSON.
#include "agent/simcoctl/print.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "simco/wire/tuple_text.hpp"

namespace simco::ctl {
namespace {

using Json = nlohmann::ordered_json;

// Flushed at once for readers of a pipe.
void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string in_words(const AddressTuple& tuple) {
  return to_text(tuple) + " " + protocol_name(tuple.protocol);
}

Json as_json(const AddressTuple& tuple) {
  Json json{{"text", to_text(tuple)},
            {"protocol", protocol_name(tuple.protocol)},
            {"protocol_number", tuple.protocol}};
  if (tuple.ip_version != kIpVersionAny) {
    json["ip_version"] = tuple.ip_version == IpVersion::kIpv4 ? 4 : 6;
  }
  if (tuple.form == AddressForm::kProtocolsOnly) return json;
  json["address"] = to_string(IpAddress{tuple.ip_version, tuple.address});
  json["prefix_length"] = tuple.prefix_length;
  json["port"] = tuple.port;
  json["ports"] = tuple.port_range;
  return json;
}

void add(Json& json, const char* name, const std::optional<AddressTuple>& tuple) {
  if (tuple) json[name] = as_json(*tuple);
}

std::string inside_in_words(const std::optional<AddressTuple>& inside) {
  return inside ? ", inside " + in_words(*inside) : "";
}

const char* in_words(agent::RuleStatus::Kind kind) {
  switch (kind) {
    case agent::RuleStatus::Kind::kReserved: return "reserved";
    case agent::RuleStatus::Kind::kEnabled: return "enabled";
    case agent::RuleStatus::Kind::kDisabled: return "disabled";
  }
  return "";
}

const char* in_words(Direction direction) {
  switch (direction) {
    case Direction::kInbound: return "in";
    case Direction::kOutbound: return "out";
    case Direction::kBidirectional: return "both";
  }
  return "";
}

}  // namespace

void Printer::print(const agent::ReservedRule& rule) const {
  if (!json_) {
    return say(fmt::format("rule {}: reserved for {} s, group {}, outside {}{}", rule.pid.value,
                           rule.lifetime.seconds, rule.group.value, in_words(rule.outside),
                           inside_in_words(rule.inside)));
  }
  Json json{{"pid", rule.pid.value},
            {"group", rule.group.value},
            {"lifetime", rule.lifetime.seconds},
            {"outside", as_json(rule.outside)}};
  add(json, "inside", rule.inside);
  say(json.dump());
}

void Printer::print(const agent::EnabledRule& rule) const {
  if (!json_) {
    return say(fmt::format("rule {}: enabled for {} s, group {}, outside {}{}", rule.pid.value,
                           rule.lifetime.seconds, rule.group.value, in_words(rule.outside),
                           inside_in_words(rule.inside)));
  }
  Json json{{"pid", rule.pid.value},
            {"group", rule.group.value},
            {"lifetime", rule.lifetime.seconds},
            {"outside", as_json(rule.outside)}};
  add(json, "inside", rule.inside);
  say(json.dump());
}

void Printer::print(const agent::DisableRule& rule) const {
  if (json_) return say(Json{{"pid", rule.pid.value}, {"lifetime", rule.lifetime.seconds}}.dump());
  say(fmt::format("rule {}: disable rule for {} s", rule.pid.value, rule.lifetime.seconds));
}

void Printer::print(const agent::RuleStatus& rule) const {
  if (json_) {
    Json json{{"pid", rule.pid.value}, {"kind", in_words(rule.kind)}};
    if (rule.group) json["group"] = rule.group->value;
    json["lifetime"] = rule.lifetime.seconds;
    json["owner"] = rule.owner;
    if (rule.parameters) {
      json["direction"] = in_words(rule.parameters->direction);
      json["same_parity"] = rule.parameters->parity == PortParity::kSame;
    }
    add(json, "internal", rule.internal);
    add(json, "inside", rule.inside);
    add(json, "outside", rule.outside);
    add(json, "external", rule.external);
    // An owner name is a sequence of octets and need not be valid UTF-8.
    return say(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  std::string line = fmt::format("rule {}: {}, {} s left, owner {}", rule.pid.value,
                                 in_words(rule.kind), rule.lifetime.seconds, rule.owner);
  if (rule.group) line += fmt::format(", group {}", rule.group->value);
  if (rule.parameters) line += fmt::format(", {}", in_words(rule.parameters->direction));
  if (rule.internal) line += ", internal " + in_words(*rule.internal);
  if (rule.inside) line += ", inside " + in_words(*rule.inside);
  if (rule.outside) line += ", outside " + in_words(*rule.outside);
  if (rule.external) line += ", external " + in_words(*rule.external);
  say(line);
}

void Printer::print(const agent::RuleEvent& event) const {
  if (json_) {
    return say(
        Json{{"pid", event.pid.value}, {"lifetime", event.lifetime.seconds}, {"lost", event.lost}}
            .dump());
  }
  const std::string before = event.lost == 0 ? "" : fmt::format("({} events lost) ", event.lost);
  const bool gone = event.lifetime == Lifetime{0};
  say(before +
      (gone ? fmt::format("rule {}: ended", event.pid.value)
            : fmt::format("rule {}: lifetime {} s", event.pid.value, event.lifetime.seconds)));
}

void Printer::print(const std::vector<PolicyRuleId>& pids) const {
  if (json_) {
    Json json{{"pids", Json::array()}};
    for (const auto pid : pids) json["pids"].push_back(pid.value);
    return say(json.dump());
  }
  for (const auto pid : pids) say(std::to_string(pid.value));
}

void Printer::print(const Explanation& explanation) const {
  using Verdict = Explanation::Verdict;
  const char* verdict = explanation.verdict == Verdict::kPasses    ? "passes"
                        : explanation.verdict == Verdict::kBlocked ? "blocked"
                                                                   : "dropped";
  if (json_) {
    Json json{{"verdict", verdict}};
    if (explanation.rule) json["rule"] = explanation.rule->value;
    json["reason"] = explanation.reason;
    json["near_misses"] = explanation.near_misses;
    json["not_known"] = explanation.not_known;
    return say(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  say(fmt::format("{}: {}", verdict, explanation.reason));
  for (const auto& line : explanation.near_misses) say("  near: " + line);
  for (const auto& line : explanation.not_known) say("  not known: " + line);
}

void Printer::print_lifetime(PolicyRuleId pid, Lifetime lifetime) const {
  print(agent::RuleEvent{pid, lifetime});
}

void Printer::print_error(const boost::system::error_code& error, const std::string& doing) const {
  const auto refusal = agent::negative_reply(error);
  const std::string what = (refusal ? "the middlebox refused: " : "") + error.message();
  std::fprintf(stderr, "simcoctl: %s: %s\n", doing.c_str(), what.c_str());
  if (!json_) return;
  Json json{{"error", error.message()}, {"doing", doing}};
  if (refusal) json["reply"] = fmt::format("0x03{:02X}", static_cast<unsigned>(*refusal));
  say(json.dump());
}

}  // namespace simco::ctl
