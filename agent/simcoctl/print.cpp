// Prints the result of each command: as a line of text, or as a line of JSON.
#include "agent/simcoctl/print.hpp"

#include <fmt/format.h>

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
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

std::string end_in_words(const AddressTuple& tuple) {
  const bool all = tuple.form == AddressForm::kFullAddress && tuple.port == 0 &&
                   protocol_has_ports(tuple.protocol);
  return to_text(tuple) + (all ? " all ports" : "");
}

std::string in_words(const AddressTuple& tuple) {
  return end_in_words(tuple) + " " + protocol_name(tuple.protocol);
}

/// A firewall reports the addresses of a rule a second time.
bool is_same_end(const std::optional<AddressTuple>& a, const std::optional<AddressTuple>& b) {
  return a && b && a->form == b->form && a->address == b->address && a->port == b->port &&
         a->prefix_length == b->prefix_length;
}

std::string time_of_day() { return fmt::format("{:%H:%M:%S}", fmt::localtime(std::time(nullptr))); }

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

std::vector<std::uint32_t> numbers(const std::vector<PolicyRuleId>& pids) {
  std::vector<std::uint32_t> result;
  for (const auto pid : pids) result.push_back(pid.value);
  return result;
}

/// On standard error, so that no reader of the list takes it for a rule.
void print_no_rules() {
  std::fputs("simcoctl: there are no rules that this agent may see\n", stderr);
}

/// Prints a new reservation or enable rule as JSON.
void say_made(const auto& rule) {
  Json json{{"pid", rule.pid.value},
            {"group", rule.group.value},
            {"lifetime", rule.lifetime.seconds},
            {"outside", as_json(rule.outside)}};
  add(json, "inside", rule.inside);
  say(json.dump());
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

const agent::RuleTraffic* find(const agent::RuleTraffics* traffic, PolicyRuleId pid) {
  if (traffic == nullptr) return nullptr;
  const auto found = traffic->find(pid);
  return found == traffic->end() ? nullptr : &found->second;
}

std::chrono::system_clock::time_point ago(agent::RuleTraffic::Age age) {
  return std::chrono::system_clock::now() - age;
}

/// The time of day, or two that it was between.
std::string last_packet_of(const agent::RuleTraffic* traffic) {
  if (traffic == nullptr || !traffic->last_packet) return "-";
  const auto text = [](agent::RuleTraffic::Age age) {
    const auto time = std::chrono::system_clock::to_time_t(ago(age));
    return fmt::format("{:%H:%M:%S}", fmt::localtime(time));
  };
  const auto after = text(traffic->last_packet->after);
  const auto until = text(traffic->last_packet->until);
  return after == until ? until : after + " to " + until;
}

/// Times as seconds since 1970.
Json as_json(const agent::RuleTraffic& traffic) {
  const auto time = [](agent::RuleTraffic::Age age) {
    const auto since = ago(age).time_since_epoch();
    return static_cast<double>(
               std::chrono::duration_cast<std::chrono::milliseconds>(since).count()) /
           1000;
  };
  const auto count = [](const PacketCount& counted) {
    return Json{{"packets", counted.packets}, {"octets", counted.octets}};
  };
  Json json = count(traffic.count);
  if (traffic.last_packet) {
    json["last_packet"] = {{"after", time(traffic.last_packet->after)},
                           {"until", time(traffic.last_packet->until)}};
  }
  json["complete_since"] = time(traffic.complete);
  for (const auto& [port, counted] : traffic.ports) {
    json["ports"][std::to_string(port)] = count(counted);
  }
  return json;
}

}  // namespace

void Printer::print(const agent::ReservedRule& rule) const {
  if (json_) return say_made(rule);
  say(fmt::format("rule {}: reserved for {} s, group {}, outside {}{}", rule.pid.value,
                  rule.lifetime.seconds, rule.group.value, in_words(rule.outside),
                  inside_in_words(rule.inside)));
}

void Printer::print(const agent::EnabledRule& rule, const AddressTuple& internal,
                    const AddressTuple& external) const {
  if (json_) return say_made(rule);
  std::string line = fmt::format("rule {}: enabled for {} s, group {}", rule.pid.value,
                                 rule.lifetime.seconds, rule.group.value);
  if (!is_same_end(rule.outside, internal)) line += ", outside " + in_words(rule.outside);
  if (!is_same_end(rule.inside, external)) line += inside_in_words(rule.inside);
  say(line);
}

void Printer::print(const agent::DisableRule& rule,
                    const std::optional<std::vector<PolicyRuleId>>& ended) const {
  if (json_) {
    Json json{{"pid", rule.pid.value}, {"lifetime", rule.lifetime.seconds}};
    json["ended"] = ended ? Json(numbers(*ended)) : Json(nullptr);
    return say(json.dump());
  }
  auto line = fmt::format("rule {}: disable rule for {} s", rule.pid.value, rule.lifetime.seconds);
  if (!ended) {
    line += ", ended rules unknown: this agent cannot list its rules";
  } else if (!ended->empty()) {
    line += fmt::format(", ended {} {}", ended->size() == 1 ? "rule" : "rules",
                        fmt::join(numbers(*ended), ", "));
  }
  say(line);
}

void Printer::print(const agent::RuleStatus& rule, const agent::RuleTraffics* traffic) const {
  const auto* counted = find(traffic, rule.pid);
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
    if (counted != nullptr) json["traffic"] = as_json(*counted);
    // An owner name is a sequence of octets and need not be valid UTF-8.
    return say(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  std::string line = fmt::format("rule {}: {}, {} s left, owner {}", rule.pid.value,
                                 in_words(rule.kind), rule.lifetime.seconds, rule.owner);
  if (rule.group) line += fmt::format(", group {}", rule.group->value);
  if (rule.parameters) line += fmt::format(", {}", in_words(rule.parameters->direction));
  if (rule.internal) line += ", internal " + in_words(*rule.internal);
  if (rule.inside && !is_same_end(rule.inside, rule.external)) {
    line += ", inside " + in_words(*rule.inside);
  }
  if (rule.outside && !is_same_end(rule.outside, rule.internal)) {
    line += ", outside " + in_words(*rule.outside);
  }
  if (rule.external) line += ", external " + in_words(*rule.external);
  if (counted != nullptr) {
    line += fmt::format(", {} packets, {} bytes", counted->count.packets, counted->count.octets);
    if (counted->last_packet) line += ", last packet " + last_packet_of(counted);
  }
  say(line);
}

void Printer::print_table(const std::vector<agent::RuleStatus>& rules,
                          const agent::RuleTraffics* traffic) const {
  if (json_) {
    for (const auto& rule : rules) print(rule, traffic);
    return;
  }
  if (rules.empty()) return print_no_rules();
  constexpr std::size_t kColumns = 12;
  using Row = std::array<std::string, kColumns>;
  std::vector<Row> rows{{"PID", "STATE", "LEFT", "OWNER", "PROTOCOL", "DIRECTION", "INTERNAL",
                         "OUTSIDE", "EXTERNAL", "PACKETS", "BYTES", "LAST PACKET"}};
  if (traffic == nullptr) std::fill(rows[0].begin() + 9, rows[0].end(), "");
  const auto end = [](const std::optional<AddressTuple>& tuple) {
    return tuple ? end_in_words(*tuple) : std::string("-");
  };
  for (const auto& rule : rules) {
    const auto& any = rule.internal ? rule.internal : rule.outside;
    const bool same = is_same_end(rule.outside, rule.internal);
    rows.push_back({std::to_string(rule.pid.value), in_words(rule.kind),
                    std::to_string(rule.lifetime.seconds) + " s", rule.owner,
                    any ? protocol_name(any->protocol) : "-",
                    rule.parameters ? in_words(rule.parameters->direction) : "-",
                    end(rule.internal), same ? "-" : end(rule.outside), end(rule.external)});
    if (traffic == nullptr) continue;
    const auto* counted = find(traffic, rule.pid);
    rows.back()[9] = counted == nullptr ? "-" : std::to_string(counted->count.packets);
    rows.back()[10] = counted == nullptr ? "-" : std::to_string(counted->count.octets);
    rows.back()[11] = last_packet_of(counted);
  }
  std::array<std::size_t, kColumns> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    say(line);
  }
}

void Printer::print(const agent::RuleEvent& event,
                    const std::optional<agent::RuleStatus>& status) const {
  if (json_) {
    Json json{{"time", std::time(nullptr)},
              {"pid", event.pid.value},
              {"lifetime", event.lifetime.seconds},
              {"lost", event.lost}};
    say(json.dump());
    if (status) print(*status);
    return;
  }
  if (event.lost != 0) say(fmt::format("{} {} events were lost", time_of_day(), event.lost));
  if (event.lifetime == Lifetime{0}) {
    say(fmt::format("{} rule {}: ended", time_of_day(), event.pid.value));
  } else if (status) {
    std::fputs((time_of_day() + " ").c_str(), stdout);
    print(*status);
  } else {
    say(fmt::format("{} rule {}: lives for {} s", time_of_day(), event.pid.value,
                    event.lifetime.seconds));
  }
}

void Printer::print(const std::vector<PolicyRuleId>& pids) const {
  if (json_) {
    return say(Json{{"pids", numbers(pids)}}.dump());
  }
  for (const auto pid : pids) say(std::to_string(pid.value));
  if (pids.empty()) print_no_rules();
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
  if (json_) {
    return say(Json{{"pid", pid.value}, {"lifetime", lifetime.seconds}, {"lost", 0}}.dump());
  }
  say(lifetime == Lifetime{0} ? fmt::format("rule {}: ended", pid.value)
                              : fmt::format("rule {}: lifetime {} s", pid.value, lifetime.seconds));
}

void Printer::print_error(const boost::system::error_code& error, const std::string& doing,
                          const std::string& hint) const {
  const auto refusal = agent::negative_reply(error);
  const std::string what = (refusal ? "the middlebox refused: " : "") + error.message();
  const std::string advice = hint.empty() ? "" : ": " + hint;
  std::fprintf(stderr, "simcoctl: %s: %s%s\n", doing.c_str(), what.c_str(), advice.c_str());
  if (!json_) return;
  Json json{{"error", error.message()}, {"doing", doing}};
  if (refusal) json["reply"] = fmt::format("0x03{:02X}", static_cast<unsigned>(*refusal));
  say(json.dump());
}

}  // namespace simco::ctl
