// The model's verdicts about requests.
#include <algorithm>

#include "tests/simulator/model.hpp"
#include "tests/support/figures.hpp"

namespace simco::test {

using enum NegativeReplyCode;

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

AddressTuple at(Location location, AddressTuple tuple) {
  tuple.location = location;
  return tuple;
}

}  // namespace

// --- Configuration -------------------------------------------------------------------------------

policy::AgentDirectory Model::directory(const std::set<std::string>& without) {
  policy::AgentDirectory result;
  for (const char* name : {"a", "b", "boss", "viewer"}) {
    if (without.contains(name)) continue;
    policy::AgentPolicy agent;
    agent.name = name;
    agent.secret = secret_of(name);
    agent.has_certificate = true;
    agent.lifetime_max_s = lifetime_max(name);
    agent.rules_max = rules_max(name);
    agent.may_extend = may_extend(name);
    if (agent.name == "boss") agent.may_change = {"*"};
    if (agent.name == "viewer") {
      agent.may_see = {"a"};
      agent.transactions.reset(static_cast<std::size_t>(policy::Transaction::kPdr));
    }
    result.add(std::move(agent));
  }
  return result;
}

policy::NatTable::Options Model::nat_options(Mode mode) {
  policy::NatTable::Options result{mode, {}, {}, kFirstPort, kLastPort, false};
  if (mode != Mode::kFirewall) result.outside = {{*parse_address("198.51.100.1"), kAddresses}};
  if (mode == Mode::kTwiceNat) result.inside = {{*parse_address("172.16.0.1"), kAddresses}};
  return result;
}

// --- Verdicts ------------------------------------------------------------------------------------

bool Model::Verdict::agrees_with(const Body& reply) const {
  if (shortage) return is_shortage(test::refusal(reply));
  return test::refusal(reply) == refusal;
}

Model::Verdict Model::decide(const std::string& who, const Body& request, Instant now) const {
  return std::visit(
      Overloaded{[&](const PerRequest& per) {
                   const Code code = refuse_per(who, per);
                   return Verdict{code, !code && translates() && !can_give(who, per)};
                 },
                 [&](const PrrRequest& prr) {
                   const Code code = refuse_prr(who, prr);
                   const Need need = need_of(prr);
                   const auto protocol = prr.parameters.protocol;
                   return Verdict{code, !code && translates() && !has_room(protocol, need, need)};
                 },
                 [&](const PeaRequest& pea) { return Verdict{refuse_pea(who, pea, now)}; },
                 [&](const PdrRequest& pdr) { return Verdict{refuse_pdr(who, pdr)}; },
                 [&](const PlcRequest& plc) { return Verdict{refuse_plc(who, plc, now)}; },
                 [&](const PrsRequest& prs) { return Verdict{refuse_prs(who, prs)}; },
                 [](const auto&) { return Verdict{}; }},
      request);
}

Model::Code Model::refuse_per(const std::string& who, const PerRequest& request) const {
  const bool both = request.parameters.direction == Direction::kBidirectional;
  if (const Code code = check_group(who, request.group)) return code;
  if (const Code code = check_tuples(request.internal, request.external, both, false)) return code;
  if (is_disabled(request.internal, request.external)) return kConflict;
  if (request.lifetime == Lifetime{0}) return kConfigurationFailed;
  return check_resources(who);
}

Model::Need Model::need_of(const PrrRequest& request) {
  constexpr Parity kParities[] = {Parity::kAny, Parity::kOdd, Parity::kEven};
  return {request.parameters.port_range,
          kParities[static_cast<unsigned>(request.parameters.parity)]};
}

Model::Code Model::refuse_prr(const std::string& who, const PrrRequest& request) const {
  const auto& asked = request.parameters;
  if (const Code code = check_group(who, request.group)) return code;
  if (translates() && asked.protocol == 1) return kProtocolNotSupported;
  if (asked.protocol != 0 && asked.port_range == 0) return kIllegalPortRange;
  if (everything_is_disabled(asked.protocol)) return kAddressSpaceNotAvailable;
  if (request.lifetime == Lifetime{0}) return kConfigurationFailed;
  if (translates() && (asked.nat_mode == NatMode::kTwice) != is_twice_nat()) {
    return kNatModeNotSupported;
  }
  return check_resources(who);
}

Model::Code Model::refuse_pea(const std::string& who, const PeaRequest& request,
                              Instant now) const {
  const auto found = rules.find(request.pid.value);
  if (found == rules.end() || found->second.expires_at <= now) return kNoSuchRule;
  const ModelRule& rule = found->second;
  if (rule.kind != RuleKind::kReserve) return kInconsistentRequest;
  if (!changes(who, rule.owner)) return kRuleAccessDenied;
  const bool both = request.parameters.direction == Direction::kBidirectional;
  if (const Code code = check_tuples(request.internal, request.external, both, false)) return code;
  const auto held = rule.internal.protocol;
  const bool left_open = held == kProtocolAny && !translates();
  if (held != request.internal.protocol && !left_open) return kProtocolMismatch;
  if (translates()) {
    if (const Code code = check_fit(rule, request)) return code;
  }
  if (is_disabled(request.internal, request.external)) return kConflict;
  return request.lifetime == Lifetime{0} ? Code(kConfigurationFailed) : std::nullopt;
}

Model::Code Model::refuse_pdr(const std::string& who, const PdrRequest& request) const {
  if (who == "viewer") return kAgentNotAuthorized;
  if (const Code code = check_tuples(request.internal, request.external, false, true)) return code;
  if (request.lifetime == Lifetime{0}) return kConfigurationFailed;
  return check_resources(who);
}

Model::Code Model::refuse_plc(const std::string& who, const PlcRequest& request,
                              Instant now) const {
  const auto found = rules.find(request.pid.value);
  if (found == rules.end() || found->second.expires_at <= now) return kNoSuchRule;
  if (!changes(who, found->second.owner)) return kRuleAccessDenied;
  const auto lifetime = grant(who, request.lifetime);
  const Instant expires_at = now + std::chrono::seconds(lifetime.seconds);
  const bool extends = lifetime != Lifetime{0} && expires_at > found->second.expires_at;
  return extends && !may_extend(who) ? Code(kLifetimeNotExtendable) : std::nullopt;
}

Model::Code Model::refuse_prs(const std::string& who, const PrsRequest& request) const {
  const auto found = rules.find(request.pid.value);
  if (found == rules.end()) return kNoSuchRule;
  return sees(who, found->second.owner) ? Code() : kRuleAccessDenied;
}

// --- The middlebox's choices ---------------------------------------------------------------------

std::optional<std::string> Model::fault_in(const std::string& who, const Body& request,
                                           const Given& given) const {
  const auto fresh = [&](const std::optional<GroupId>& group) -> std::optional<std::string> {
    if (rules.contains(given.pid)) return "the PID is another rule's";
    return fault_in_group(who, group, given);
  };
  return std::visit(
      Overloaded{[&](const PerRequest& per) {
                   const auto fault = fresh(per.group);
                   return fault ? fault : fault_in_rule(who, per, given);
                 },
                 [&](const PrrRequest& prr) {
                   const auto fault = fresh(prr.group);
                   return fault ? fault : fault_in_reservation(prr, given);
                 },
                 [&](const PeaRequest& pea) -> std::optional<std::string> {
                   const ModelRule& rule = rules.at(pea.pid.value);
                   if (given.group != rule.group) return "the group is another";
                   const bool kept = !translates() ||
                                     (given.outside == rule.outside && given.inside == rule.inside);
                   return kept ? std::nullopt : std::optional("what was reserved is not enabled");
                 },
                 [&](const PdrRequest&) -> std::optional<std::string> {
                   if (rules.contains(given.pid)) return "the PID is another rule's";
                   return std::nullopt;
                 },
                 [](const auto&) { return std::optional<std::string>(); }},
      request);
}

std::optional<std::string> Model::fault_in_group(const std::string& who,
                                                 const std::optional<GroupId>& asked,
                                                 const Given& given) const {
  if (asked) {
    if (given.group != asked->value) return "the group is not the one that was asked for";
  } else if (has_group(given.group)) {
    return "the new group is " + groups.at(given.group) + "'s, asked for by " + who;
  }
  return std::nullopt;
}

std::optional<std::string> Model::fault_in_rule(const std::string& who, const PerRequest& request,
                                                const Given& given) const {
  if (!translates()) return std::nullopt;
  if (given.inside.has_value() != is_twice_nat()) return "an inside tuple, or none";
  const auto fault = fault_in_binding(who, given.outside, true, request);
  return fault || !given.inside ? fault : fault_in_binding(who, *given.inside, false, request);
}

std::optional<std::string> Model::fault_in_reservation(const PrrRequest& request,
                                                       const Given& given) const {
  if (!translates()) return std::nullopt;
  if (given.inside.has_value() != is_twice_nat()) return "an inside tuple, or none";
  const auto protocol = request.parameters.protocol;
  const Need need = need_of(request);
  const auto fault = fault_in_tuple(given.outside, true, protocol, need);
  return fault || !given.inside ? fault : fault_in_tuple(*given.inside, false, protocol, need);
}

std::optional<std::string> Model::fault_in_binding(const std::string& who,
                                                   const AddressTuple& given, bool outside,
                                                   const PerRequest& request) const {
  const auto there = bindings_of(who, outside, request);
  const auto wanted = need(outside, request.internal, request.external, request.parameters);
  if (there.empty()) return fault_in_tuple(given, outside, request.internal.protocol, wanted);
  if (std::ranges::find(there, given) == there.end()) return "the endpoint's binding is not shared";
  return fits(given, wanted) ? std::nullopt : std::optional("the parity is wrong");
}

std::optional<std::string> Model::fault_in_tuple(const AddressTuple& given, bool outside,
                                                 std::uint8_t protocol, Need need) const {
  const auto address = std::to_integer<std::uint32_t>(given.address[3]);
  const bool in_pool = std::to_integer<int>(given.address[0]) == (outside ? 198 : 172) &&
                       address >= 1 && address <= kAddresses;
  if (given.location != (outside ? Location::kOutside : Location::kInside)) return "the location";
  if (given.protocol != protocol) return "the protocol is another";
  if (given.prefix_length != 32 || !in_pool) return "the address is not in the pool";
  const auto used = taken(outside, protocol);
  const bool all = need.ports == 0xFFFF;
  const unsigned count = protocol == 0 || all ? kLastPort - kFirstPort + 1 : need.ports;
  const unsigned first = protocol == 0 ? kFirstPort : given.port;
  for (unsigned i = 0; i < count; ++i) {
    if (used.contains({address, first + i})) return "a port is taken";
  }
  if (protocol == 0) return std::nullopt;
  if (given.port_range != count) return "the port range is another";
  if (given.port < kFirstPort || given.port + count - 1 > kLastPort) return "a port is no pool's";
  const bool parity = need.parity == Parity::kAny || all || parity_of(given.port) == need.parity;
  return parity ? std::nullopt : std::optional("the parity is wrong");
}

// --- The consequences ----------------------------------------------------------------------------

void Model::add(const std::string& who, const Given& given, RuleKind kind, ModelRule rule,
                std::vector<Happened>& happened) {
  rule.kind = kind;
  rule.owner = who;
  rule.group = given.group;
  rule.expires_at = given.expires_at;
  if (kind != RuleKind::kDisable) groups[given.group] = who;
  rules[given.pid] = std::move(rule);
  happened.push_back({given.pid, 0, who, true});
}

void Model::carry_out(const std::string& who, const Body& request, const Given& given,
                      std::vector<Happened>& happened) {
  const auto lifetime_of = [&](Lifetime wish) { return grant(who, wish).seconds; };
  std::visit(
      Overloaded{[&](const PerRequest& per) {
                   add(who, given, RuleKind::kEnable,
                       {{},
                        {},
                        0,
                        {},
                        per.parameters,
                        per.internal,
                        per.external,
                        given.outside,
                        given.inside},
                       happened);
                   happened.back().lifetime = lifetime_of(per.lifetime);
                 },
                 [&](const PrrRequest& prr) {
                   const auto held = protocols_only(Location::kInternal, prr.parameters.protocol);
                   add(who, given, RuleKind::kReserve,
                       {{}, {}, 0, {}, {}, held, held, given.outside, given.inside}, happened);
                   happened.back().lifetime = lifetime_of(prr.lifetime);
                 },
                 [&](const PeaRequest& pea) {
                   ModelRule& rule = rules.at(pea.pid.value);
                   rule.kind = RuleKind::kEnable;
                   rule.parameters = pea.parameters;
                   rule.internal = pea.internal;
                   rule.external = pea.external;
                   rule.outside = given.outside;
                   rule.inside = given.inside;
                   rule.expires_at = given.expires_at;
                   happened.push_back({pea.pid.value, lifetime_of(pea.lifetime), rule.owner, true});
                 },
                 [&](const PdrRequest& pdr) {
                   add(who, given, RuleKind::kDisable,
                       {{}, {}, 0, {}, {}, pdr.internal, pdr.external, {}, {}}, happened);
                   happened.back().lifetime = lifetime_of(pdr.lifetime);
                 },
                 [&](const PlcRequest& plc) {
                   const auto found = rules.find(plc.pid.value);
                   const auto lifetime = lifetime_of(plc.lifetime);
                   happened.push_back({plc.pid.value, lifetime, found->second.owner, true});
                   if (lifetime == 0) {
                     rules.erase(found);
                   } else {
                     found->second.expires_at = given.expires_at;
                   }
                 },
                 [](const auto&) {}},
      request);
}

void Model::end_disabled_rules(std::vector<Happened>& happened) {
  std::erase_if(rules, [&](const auto& entry) {
    const auto& [pid, rule] = entry;
    const bool ends = rule.kind == RuleKind::kEnable && is_disabled(rule.internal, rule.external);
    if (ends) happened.push_back({pid, 0, rule.owner, false});
    return ends;
  });
}

Body Model::reply_to(const Body& request, std::uint32_t pid, Lifetime lifetime) const {
  if (std::holds_alternative<PdrRequest>(request)) return PdrReply{{pid}, lifetime};
  if (std::holds_alternative<PlcRequest>(request)) {
    return lifetime == Lifetime{0} ? Body(PrdReply{}) : Body(PlcReply{lifetime});
  }
  const ModelRule& rule = rules.at(pid);
  if (std::holds_alternative<PrrRequest>(request)) {
    return PrrReply{{pid}, {rule.group}, lifetime, rule.outside, rule.inside};
  }
  return PerReply{{pid}, {rule.group}, lifetime, rule.outside, rule.inside};
}

std::set<std::uint32_t> Model::visible_to(const std::string& who) const {
  std::set<std::uint32_t> result;
  for (const auto& [pid, rule] : rules) {
    if (sees(who, rule.owner)) result.insert(pid);
  }
  return result;
}

Body Model::status_of(std::uint32_t pid, Instant now) const {
  const ModelRule& rule = rules.at(pid);
  const auto left = std::chrono::ceil<std::chrono::seconds>(rule.expires_at - now);
  const Lifetime lifetime{static_cast<std::uint32_t>(left.count())};
  const Owner owner{OctetsView::of(rule.owner)};
  const GroupId group{rule.group};
  switch (rule.kind) {
    case RuleKind::kReserve:
      return PrsReply{{pid}, group, lifetime, rule.outside, rule.inside, owner};
    case RuleKind::kEnable:
      return PesReply{{pid},
                      group,
                      rule.parameters,
                      rule.internal,
                      rule.inside.value_or(at(Location::kInside, rule.external)),
                      rule.outside,
                      rule.external,
                      lifetime,
                      owner};
    case RuleKind::kDisable: break;
  }
  return PdsReply{{pid}, rule.internal, rule.external, lifetime, owner};
}

}  // namespace simco::test
