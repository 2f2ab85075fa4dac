// Compares a packet with the rules that the middlebox listed, and writes the result as sentences.
#include "agent/simcoctl/explain.hpp"

#include <fmt/format.h>

#include "agent/simcoctl/limits.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::ctl {
namespace {

using agent::RuleStatus;
using packet::Packet;
using Kind = RuleStatus::Kind;

std::string end_text(const IpAddress& address, std::uint16_t port) {
  return port == 0 ? to_string(address) : net::endpoint_text(to_string(address), port);
}

std::string ports_text(const packet::Ports& ports) {
  if (ports.count == 1) return std::to_string(ports.first);
  return fmt::format("{} to {}", ports.first, ports.last());
}

std::string rule_text(const RuleStatus& rule) {
  return fmt::format("rule {} of {}", rule.pid.value, rule.owner);
}

bool same_place(const AddressTuple& a, const AddressTuple& b) {
  return a.address == b.address && a.prefix_length == b.prefix_length && a.port == b.port;
}

/// A rule whose NAT binding a packet is addressed to, and the packet with the real endpoints.
struct Translated {
  const RuleStatus* rule = nullptr;
  Packet packet;
};

/// The endpoint that the n-th port of `binding` stands for.
void translate(const AddressTuple& binding, const AddressTuple& real, IpAddress& address,
               std::uint16_t& port) {
  address = {real.ip_version, real.address};
  if (has_ports(binding) && has_ports(real)) {
    port = static_cast<std::uint16_t>(real.port + (port - binding.port));
  }
}

/// Looks for a binding: incoming packets go to outside addresses, and on a twice NAT outgoing
/// packets go to inside addresses.
std::optional<Translated> find_binding(const Explain& wanted,
                                       const std::vector<RuleStatus>& rules) {
  for (const auto& rule : rules) {
    if (rule.kind != Kind::kEnabled || !rule.internal || !rule.external) continue;
    const auto& own = wanted.inbound ? rule.internal : rule.external;
    const auto& binding = wanted.inbound ? rule.outside : rule.inside;
    if (!binding || same_place(*binding, *own)) continue;
    const auto& internal = wanted.inbound ? *binding : *rule.internal;
    const auto& external = wanted.inbound ? *rule.external : *binding;
    const auto agreement = packet::compare(internal, external, wanted.packet);
    if (!agreement || agreement->faults() != 0) continue;
    Translated result{&rule, wanted.packet};
    auto& packet = result.packet;
    if (wanted.inbound) {
      translate(*binding, *own, packet.internal, packet.internal_port);
    } else {
      translate(*binding, *own, packet.external, packet.external_port);
    }
    return result;
  }
  return std::nullopt;
}

bool lets_pass(const RuleStatus& rule, bool inbound) {
  const auto direction = rule.parameters->direction;
  return direction == Direction::kBidirectional || (direction == Direction::kInbound) == inbound;
}

/// The end of a port's pair.
std::string partner(const packet::Ports& from, const packet::Ports& to, std::uint16_t port) {
  return std::to_string(to.first + (port - from.first));
}

/// The point in which a packet differs from a rule.
std::string difference(const RuleStatus& rule, const packet::Agreement& agreement,
                       const Packet& packet) {
  const auto [inner, outer] = packet::pairing_of(*rule.internal, *rule.external);
  if (!agreement.protocol) return "is for " + protocol_name(rule.internal->protocol);
  if (!agreement.internal_address) {
    return "is for internal " + to_string(prefix_of(*rule.internal));
  }
  if (!agreement.external_address) {
    return "is for external " + to_string(prefix_of(*rule.external));
  }
  if (!agreement.internal_port) return "is for internal port " + ports_text(inner);
  if (!agreement.external_port) return "is for external port " + ports_text(outer);
  return fmt::format("pairs internal port {} with external {}, not {}", packet.internal_port,
                     partner(inner, outer, packet.internal_port), packet.external_port);
}

void add_near_miss(const RuleStatus& rule, const packet::Agreement& agreement,
                   const Explain& wanted, std::vector<std::string>& near_misses) {
  if (near_misses.size() == kNearMissesMax || agreement.faults() > 1) return;
  std::string text = rule_text(rule);
  if (agreement.faults() == 1) {
    text += " " + difference(rule, agreement, wanted.packet);
  } else if (wanted.packet.protocol == kProtocolTcp) {
    text += wanted.inbound ? " lets only connections from inside begin"
                           : " lets only connections from outside begin";
  } else {
    text += wanted.inbound ? " lets packets out only" : " lets packets in only";
  }
  near_misses.push_back(std::move(text));
}

/// How a packet that passes is translated.
std::string translation(const RuleStatus& rule, bool inbound, bool addressed) {
  if (rule.outside && !same_place(*rule.outside, *rule.internal)) {
    const auto outside = to_text(*rule.outside);
    if (!inbound) return "; it leaves with the source " + outside;
    if (!addressed) return "; it must be sent to the outside address " + outside;
    return "; " + outside + " stands for " + to_text(*rule.internal);
  }
  return {};
}

void decide_by_enable_rules(const Explain& wanted, bool addressed,
                            const std::vector<RuleStatus>& rules, Explanation& result) {
  for (const auto& rule : rules) {
    if (rule.kind != Kind::kEnabled || !rule.internal || !rule.external) continue;
    const auto agreement = packet::compare(*rule.internal, *rule.external, wanted.packet);
    if (!agreement) continue;
    if (agreement->faults() != 0 || !lets_pass(rule, wanted.inbound)) {
      add_near_miss(rule, *agreement, wanted, result.near_misses);
      continue;
    }
    result.verdict = Explanation::Verdict::kPasses;
    result.rule = rule.pid;
    result.reason =
        fmt::format("{} lets it pass for another {} s{}", rule_text(rule), rule.lifetime.seconds,
                    translation(rule, wanted.inbound, addressed));
    result.near_misses.clear();
    const bool many = prefix_of(*rule.external).length < address_bits(rule.external->ip_version);
    if (wanted.inbound && many) {
      result.not_known.push_back("whether the route to " + to_string(wanted.packet.external) +
                                 " uses the external interface, as it must");
    }
    return;
  }
}

}  // namespace

Explanation explain(const Explain& wanted, const std::vector<RuleStatus>& rules) {
  Explanation result;
  Explain real = wanted;
  const auto translated = find_binding(wanted, rules);
  if (translated) real.packet = translated->packet;
  for (const auto& rule : rules) {
    if (rule.kind != Kind::kDisabled || !rule.internal || !rule.external) continue;
    const auto agreement = packet::compare(*rule.internal, *rule.external, real.packet);
    if (!agreement || agreement->faults() != 0) continue;
    result.verdict = Explanation::Verdict::kBlocked;
    result.rule = rule.pid;
    result.reason = fmt::format("disable {} blocks it for another {} s", rule_text(rule),
                                rule.lifetime.seconds);
    return result;
  }
  decide_by_enable_rules(real, translated.has_value(), rules, result);
  if (result.verdict == Explanation::Verdict::kPasses) return result;
  const auto& packet = real.packet;
  result.reason = fmt::format("no rule lets {} pass from {} to {}; this agent may see {}",
                              protocol_name(packet.protocol),
                              wanted.inbound ? end_text(packet.external, packet.external_port)
                                             : end_text(packet.internal, packet.internal_port),
                              wanted.inbound ? end_text(packet.internal, packet.internal_port)
                                             : end_text(packet.external, packet.external_port),
                              rules.size());
  result.not_known.push_back("rules of agents that are not listed in 'see'");
  result.not_known.push_back(
      "whether the middlebox has --allow-outbound, which lets flows out, and their replies in");
  result.not_known.push_back(
      "whether the internal address is the middlebox's own: then only packets from outside to a "
      "guarded port (--guard) need a rule");
  if (packet.protocol == kProtocolTcp) {
    result.not_known.push_back(
        "whether the packet belongs to a connection that began on the other side");
  }
  return result;
}

}  // namespace simco::ctl
