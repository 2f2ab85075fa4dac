#include "tests/simulator/model.hpp"

#include <algorithm>

namespace simco::test {

using enum NegativeReplyCode;

namespace {

unsigned bit(const AddressTuple& tuple, unsigned i) {
  return (std::to_integer<unsigned>(tuple.address[i / 8]) >> (7 - i % 8)) & 1;
}

}  // namespace

bool meets(const AddressTuple& a, const AddressTuple& b) {
  if (a.ip_version != b.ip_version) return false;
  if (a.protocol != 0 && b.protocol != 0 && a.protocol != b.protocol) return false;
  if (a.form == AddressForm::kProtocolsOnly || b.form == AddressForm::kProtocolsOnly) return true;
  for (unsigned i = 0; i < std::min(a.prefix_length, b.prefix_length); ++i) {
    if (bit(a, i) != bit(b, i)) return false;
  }
  if (a.protocol == 0 || b.protocol == 0 || a.port == 0 || b.port == 0) return true;
  return a.port < b.port + b.port_range && b.port < a.port + a.port_range;
}

std::uint32_t Model::rules_of(const std::string& owner) const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(rules, [&](const auto& entry) { return entry.second.owner == owner; }));
}

bool Model::has_group(std::uint32_t group) const {
  return std::ranges::any_of(rules, [&](const auto& entry) {
    return entry.second.kind != RuleKind::kDisable && entry.second.group == group;
  });
}

Model::Code Model::check_group(const std::string& who, const std::optional<GroupId>& group) const {
  if (!group) return std::nullopt;
  if (!has_group(group->value)) return kNoSuchGroup;
  return who == groups.at(group->value) ? Code() : kGroupAccessDenied;
}

bool Model::is_disabled(const AddressTuple& internal, const AddressTuple& external) const {
  return std::ranges::any_of(rules, [&](const auto& entry) {
    const auto& rule = entry.second;
    return rule.kind == RuleKind::kDisable && meets(rule.internal, internal) &&
           meets(rule.external, external);
  });
}

bool Model::everything_is_disabled(std::uint8_t protocol) const {
  const auto is_all = [](const AddressTuple& t) {
    const bool any_port = t.protocol == 0 || t.port == 0;
    return t.form == AddressForm::kProtocolsOnly || (t.prefix_length == 0 && any_port);
  };
  return std::ranges::any_of(rules, [&](const auto& entry) {
    const auto& rule = entry.second;
    const bool hit = rule.internal.protocol == 0 || rule.internal.protocol == protocol;
    return rule.kind == RuleKind::kDisable && hit && is_all(rule.internal) && is_all(rule.external);
  });
}

Model::Code Model::check_resources(const std::string& who) const {
  const bool full = rules.size() >= kRulesMax || rules_of(who) >= rules_max(who);
  return full ? Code(kNoResources) : std::nullopt;
}

Model::Code Model::check_tuples(const AddressTuple& internal, const AddressTuple& external,
                                bool both_ways, bool for_disable) const {
  const auto ports = [](const AddressTuple& t) {
    return t.form == AddressForm::kFullAddress && t.protocol != 0 && t.port != 0;
  };
  const auto any_address = [](const AddressTuple& t) {
    return t.form == AddressForm::kProtocolsOnly || t.prefix_length < 32;
  };
  const bool has_ports = internal.protocol == 6 || internal.protocol == 17;
  const bool any_port = has_ports && !(ports(internal) && ports(external));
  if (ports(internal) && ports(external) && internal.port_range != external.port_range) {
    return kInconsistentRequest;
  }
  if (both_ways && (any_port || any_address(internal) || any_address(external))) {
    return kInconsistentRequest;
  }
  if (!for_disable && translates() && any_address(internal)) return kWildcardingNotSupported;
  if (!for_disable && is_twice_nat() && any_address(external)) {
    return kWildcardingNotSupported;
  }
  if (!for_disable && translates() && internal.protocol == 1) return kProtocolNotSupported;
  return std::nullopt;
}

Model::Need Model::need(const AddressTuple& own, const AddressTuple& other, bool sends_only,
                        bool same) {
  const auto ports = [](const AddressTuple& t) {
    return t.form == AddressForm::kFullAddress && t.port != 0 ? t.port_range : 0U;
  };
  if (ports(own) != 0) return {ports(own), same ? parity_of(own.port) : Parity::kAny};
  if (sends_only) return {std::max(1U, ports(other)), Parity::kAny};
  return {0xFFFF, Parity::kAny};
}

Model::Need Model::need(bool outside, const AddressTuple& internal, const AddressTuple& external,
                        PerParameterSet parameters) {
  const bool same = parameters.parity == PortParity::kSame;
  if (outside) {
    return need(internal, external, parameters.direction == Direction::kOutbound, same);
  }
  return need(external, internal, parameters.direction == Direction::kInbound, same);
}

bool Model::fits(const AddressTuple& given, Need need) {
  const bool any = given.protocol == 0 || need.ports == 0xFFFF || need.parity == Parity::kAny;
  return any || parity_of(given.port) == need.parity;
}

Model::Code Model::check_fit(const ModelRule& rule, const PeaRequest& request) {
  const auto check = [&](const AddressTuple& given, bool outside) -> Code {
    auto wanted = need(outside, request.internal, request.external, request.parameters);
    if (given.protocol == 0) return std::nullopt;
    if (wanted.ports == 0xFFFF) wanted.ports = kLastPort - kFirstPort + 1;
    if (given.port_range != wanted.ports) return kInconsistentRequest;
    const bool parity = wanted.parity == Parity::kAny || wanted.parity == parity_of(given.port);
    return parity ? Code() : kParityMismatch;
  };
  const Code code = check(rule.outside, true);
  return code || !rule.inside ? code : check(*rule.inside, false);
}

bool Model::is_shortage(Code code) {
  return code == kLackOfPorts || code == kLackOfAddresses || code == kParityMismatch;
}

std::set<std::pair<std::uint32_t, std::uint32_t>> Model::taken(bool outside,
                                                               std::uint8_t protocol) const {
  std::set<std::pair<std::uint32_t, std::uint32_t>> result;
  for (const auto& [pid, rule] : rules) {
    if (rule.kind == RuleKind::kDisable) continue;
    const auto& tuple = outside ? rule.outside : *rule.inside;
    if (protocol != 0 && tuple.protocol != 0 && tuple.protocol != protocol) continue;
    const auto address = std::to_integer<std::uint32_t>(tuple.address[3]);
    const unsigned first = tuple.protocol == 0 ? kFirstPort : tuple.port;
    const unsigned last = tuple.protocol == 0 ? kLastPort : first + tuple.port_range - 1;
    for (unsigned port = first; port <= last; ++port) result.emplace(address, port);
  }
  return result;
}

bool Model::has_room(bool outside, std::uint8_t protocol, Need need) const {
  const auto used = taken(outside, protocol);
  if (protocol == 0 || need.ports == 0xFFFF) need = {kLastPort - kFirstPort + 1, Parity::kAny};
  for (std::uint32_t address = 1; address <= kAddresses; ++address) {
    for (unsigned first = kFirstPort; first + need.ports - 1 <= kLastPort; ++first) {
      const bool odd_or_even = need.parity != Parity::kAny;
      if (odd_or_even && first % 2 != static_cast<unsigned>(need.parity)) continue;
      bool free = true;
      for (unsigned i = 0; i < need.ports; ++i) free = free && !used.contains({address, first + i});
      if (free) return true;
    }
  }
  return false;
}

bool Model::has_room(std::uint8_t protocol, Need outside, Need inside) const {
  return has_room(true, protocol, outside) &&
         (!is_twice_nat() || has_room(false, protocol, inside));
}

std::vector<AddressTuple> Model::bindings_of(const std::string& who, bool outside,
                                             const PerRequest& request) const {
  std::vector<AddressTuple> result;
  const auto& own = outside ? request.internal : request.external;
  const auto wanted = need(outside, request.internal, request.external, request.parameters);
  for (const auto& [pid, rule] : rules) {
    if (rule.kind != RuleKind::kEnable || rule.owner != who) continue;
    const auto& other = outside ? rule.internal : rule.external;
    if (other.address != own.address || other.protocol != own.protocol) continue;
    const bool ports = own.protocol != 0 && own.port != 0;
    const auto has = need(outside, rule.internal, rule.external, rule.parameters);
    const bool same = other.port == own.port && (!ports || other.port_range == own.port_range) &&
                      has.ports == wanted.ports;
    if (own.protocol == 0 || same) result.push_back(outside ? rule.outside : *rule.inside);
  }
  return result;
}

bool Model::can_give(const std::string& who, bool outside, const PerRequest& request) const {
  const auto there = bindings_of(who, outside, request);
  const auto wanted = need(outside, request.internal, request.external, request.parameters);
  if (there.empty()) return has_room(outside, request.internal.protocol, wanted);
  return std::ranges::any_of(there, [&](const auto& given) { return fits(given, wanted); });
}

bool Model::can_give(const std::string& who, const PerRequest& request) const {
  return can_give(who, true, request) && (!is_twice_nat() || can_give(who, false, request));
}

}  // namespace simco::test
