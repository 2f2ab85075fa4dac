// The middlebox core against a plain model: long random runs of all transactions from several
// agents with different rights, on each kind of middlebox, comparing every reply, every event and
// the rules that are left. The model is written for clearness: it compares all pairs and counts
// ports one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "tests/support/middlebox_core.hpp"

namespace simco::policy {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using test::MiddleboxCore;
using test::refusal;
using Code = std::optional<NegativeReplyCode>;

constexpr std::uint32_t kRulesMax = 40;
constexpr std::uint16_t kFirstPort = 3000;
constexpr std::uint16_t kLastPort = 3011;
constexpr std::uint32_t kAddresses = 2;

struct ModelRule {
  RuleKind kind = RuleKind::kEnable;
  std::string owner;
  std::uint32_t group = 0;
  Instant deadline;
  PerParameterSet parameters;
  AddressTuple internal;
  AddressTuple external;
  AddressTuple outside;
  std::optional<AddressTuple> inside;
};

unsigned bit(const AddressTuple& tuple, unsigned i) {
  return (std::to_integer<unsigned>(tuple.address[i / 8]) >> (7 - i % 8)) & 1;
}

/// Do the tuples have an address, a protocol and a port in common?
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

class Model {
 public:
  explicit Model(Mode mode) : mode_(mode) {}

  std::map<std::uint32_t, ModelRule> rules;
  std::map<std::uint32_t, std::string> groups;  ///< owner; may be empty of rules

  static bool sees(const std::string& who, const std::string& owner) {
    return who == owner || who == "boss" || (who == "viewer" && owner == "a");
  }
  static bool changes(const std::string& who, const std::string& owner) {
    return who == owner || who == "boss";
  }
  static std::uint32_t rules_max(const std::string& who) { return who == "b" ? 8 : 0xFFFF'FFFF; }
  static std::uint32_t lifetime_max(const std::string& who) { return who == "b" ? 20 : 60; }

  bool translates() const { return mode_ != Mode::kFirewall; }
  std::uint32_t rules_of(const std::string& owner) const {
    return static_cast<std::uint32_t>(std::ranges::count_if(
        rules, [&](const auto& entry) { return entry.second.owner == owner; }));
  }
  bool has_group(std::uint32_t group) const {
    return std::ranges::any_of(rules, [&](const auto& entry) {
      return entry.second.kind != RuleKind::kDisable && entry.second.group == group;
    });
  }
  Code check_group(const std::string& who, const std::optional<GroupId>& group) {
    if (!group) return std::nullopt;
    if (!has_group(group->value)) return kNoSuchGroup;
    return who == groups.at(group->value) ? Code() : kGroupAccessDenied;
  }
  bool is_disabled(const AddressTuple& internal, const AddressTuple& external) const {
    return std::ranges::any_of(rules, [&](const auto& entry) {
      const auto& rule = entry.second;
      return rule.kind == RuleKind::kDisable && meets(rule.internal, internal) &&
             meets(rule.external, external);
    });
  }
  Code check_resources(const std::string& who) const {
    const bool full = rules.size() >= kRulesMax || rules_of(who) >= rules_max(who);
    return full ? Code(kNoResources) : std::nullopt;
  }
  // The requests of this test have one fault at most among those of check_tuples(): their port
  // ranges, their wildcards.
  Code check_tuples(const AddressTuple& internal, const AddressTuple& external, bool both_ways,
                    bool for_disable) const {
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
    if (!for_disable && mode_ == Mode::kTwiceNat && any_address(external)) {
      return kWildcardingNotSupported;
    }
    if (!for_disable && translates() && internal.protocol == 1) return kProtocolNotSupported;
    return std::nullopt;
  }

  /// Ports taken on one side, by address and port.
  std::set<std::pair<std::uint32_t, std::uint32_t>> taken(bool outside,
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
  /// Is there room on that side for so many ports of that parity at one address?
  bool has_room(bool outside, std::uint8_t protocol, unsigned ports, Parity parity) const {
    const auto used = taken(outside, protocol);
    if (protocol == 0 || ports == 0xFFFF) {
      ports = kLastPort - kFirstPort + 1;
      parity = Parity::kAny;
    }
    for (std::uint32_t address = 1; address <= kAddresses; ++address) {
      for (unsigned first = kFirstPort; first + ports - 1 <= kLastPort; ++first) {
        if (parity != Parity::kAny && first % 2 != static_cast<unsigned>(parity)) continue;
        bool free = true;
        for (unsigned i = 0; i < ports; ++i) free = free && !used.contains({address, first + i});
        if (free) return true;
      }
    }
    return false;
  }

 private:
  Mode mode_;
};

class RandomRun {
 public:
  RandomRun(Mode mode, unsigned seed)
      : mode_(mode), random_(seed), box_(options(mode)), model_(mode) {
    for (const char* name : {"a", "b", "boss", "viewer"}) agents_[name] = &box_.agent(name);
  }

  /// Some requests of one agent, each sent without waiting for the reply to the one before; they
  /// must come out as if it had waited (doc/rfc4540.md, reading 26).
  void step() {
    static const std::vector<std::string> names = {"a", "b", "boss", "viewer"};
    who_ = names[below(4)];
    for (const auto& [name, each] : agents_) {
      each->events.clear();
      each->replies.clear();
    }
    happened_.clear();
    if (below(40) == 0) {
      pass_time();
      return expect_events();
    }
    std::vector<Asked> burst;
    for (std::uint32_t left = below(3) == 0 ? 1 + below(12) : 1; left > 0; --left) {
      burst.push_back(some_request());
    }
    send(burst);
    std::size_t refused = 0;
    for (const auto& [request, check] : burst) {
      const auto& reply = agents_.at(who_)->replies[next_tid_++];
      ++outcomes[name_of(type_of(reply))];
      refused_ = false;
      check(reply);
      if (refused_) ++refused;
    }
    EXPECT_EQ(refused, box_.backend.refused);
    EXPECT_EQ(box_.engine.rule_count(), model_.rules.size());
    expect_events();
  }
  std::map<std::string, int> outcomes;  ///< how often each reply came, to see that the run is one

 private:
  static MiddleboxCore::Options options(Mode mode) {
    MiddleboxCore::Options result;
    result.rules_max = kRulesMax;
    result.nat = {mode, {}, {}, kFirstPort, kLastPort, false};
    if (mode != Mode::kFirewall)
      result.nat.outside = {{*parse_address("198.51.100.1"), kAddresses}};
    if (mode == Mode::kTwiceNat) result.nat.inside = {{*parse_address("172.16.0.1"), kAddresses}};
    result.directory = {};
    AgentPolicy boss;
    boss.name = "boss";
    boss.may_change = {"*"};
    boss.lifetime_max_s = 60;
    AgentPolicy viewer;
    viewer.name = "viewer";
    viewer.may_see = {"a"};
    viewer.lifetime_max_s = 60;
    viewer.transactions.reset(static_cast<std::size_t>(Transaction::kPdr));
    AgentPolicy a;
    a.name = "a";
    a.lifetime_max_s = 60;
    AgentPolicy b;
    b.name = "b";
    b.lifetime_max_s = 20;
    b.rules_max = 8;
    b.may_extend = false;
    for (auto* agent : {&boss, &viewer, &a, &b}) result.directory.add(*agent);
    return result;
  }

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  AddressTuple tuple(Location location, std::uint8_t protocol) {
    if (below(14) == 0) return test::protocols_only(location, protocol);
    auto result = test::ipv4(location, {10, 0, 0, static_cast<int>(below(4))}, 0, 1, protocol);
    if (location == Location::kExternal) result.address[0] = std::byte{192};
    if (below(8) == 0) result.prefix_length = static_cast<std::uint8_t>(below(33));
    if (protocol != 1 && below(6) != 0) result.port = static_cast<std::uint16_t>(5000 + below(8));
    result.port_range = static_cast<std::uint16_t>(below(4) == 0 ? 1 + below(3) : 2);
    return result;
  }
  std::uint8_t protocol() {
    constexpr std::uint8_t from[] = {17, 17, 17, 17, 6, 6, 0, 1};
    return from[below(8)];
  }
  PerParameterSet parameters() {
    return {below(2) == 0 ? PortParity::kAny : PortParity::kSame,
            static_cast<Direction>(1 + below(3))};
  }
  Lifetime lifetime() { return {below(15) == 0 ? 0 : 1 + below(80)}; }
  std::uint32_t some_pid() {
    if (model_.rules.empty() || below(8) == 0) return below(500);
    return std::next(model_.rules.begin(), below(static_cast<std::uint32_t>(model_.rules.size())))
        ->first;
  }
  std::optional<GroupId> some_group() {
    if (below(3) != 0) return std::nullopt;
    const auto rule = model_.rules.find(some_pid());
    return GroupId{rule == model_.rules.end() ? below(100) : rule->second.group};
  }

  /// A request, and how its reply is compared with what the model makes of it.
  struct Asked {
    Body request;
    std::function<void(const Body&)> check;
  };
  Asked some_request() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2: return per();
      case 3:
      case 4: return prr();
      case 5:
      case 6: return pea();
      case 7: return below(3) == 0 ? pdr() : per();
      case 8:
      case 9: return plc();
      case 10: return prs();
      default: return prl();
    }
  }
  /// With a backend that answers at some time, and refuses some of what it is asked.
  void send(const std::vector<Asked>& burst) {
    auto& agent = *agents_.at(who_);
    const bool has_pdr = std::ranges::any_of(
        burst, [](const auto& asked) { return std::holds_alternative<PdrRequest>(asked.request); });
    const bool refuses = below(12) == 0;
    box_.backend.automatic = false;
    box_.backend.refused = 0;
    const auto finish = [&] {
      std::vector<backend::ChangeResult> results;
      for (const auto& change : box_.backend.batches.back()) {
        // A rule that a disable rule could not end would be tried again for ever.
        const bool may_refuse = change.kind != backend::RuleChange::Kind::kRemove || !has_pdr;
        const bool refuse = refuses && may_refuse && below(2) == 0;
        results.push_back(refuse ? backend::ChangeResult::kRefused : backend::ChangeResult::kDone);
      }
      box_.backend.finish(results);
    };
    for (const auto& asked : burst) {
      next_tid_ = box_.submit(agent, asked.request);
      if (below(2) == 0) box_.commit.dispatch();
      if (box_.backend.busy() && below(4) == 0) finish();
    }
    box_.commit.dispatch();
    while (!box_.commit.idle()) {
      if (box_.backend.busy()) {
        finish();
      } else {
        box_.advance({});  // more rules that a disable rule ends
      }
    }
    next_tid_ = next_tid_ + 1 - static_cast<std::uint32_t>(burst.size());
    EXPECT_EQ(agent.replies.size(), burst.size());
  }
  /// Compares a reply with what is wanted; true where the request was granted.
  bool granted(const Body& reply, Code wanted) {
    refused_ = !wanted && refusal(reply) == kConfigurationFailed;
    if (refused_) return false;
    EXPECT_EQ(refusal(reply), wanted);
    return !wanted && !refusal(reply);
  }
  using Events = std::multiset<std::pair<std::uint32_t, std::uint32_t>>;
  /// Everybody who sees the owner has heard of exactly this, but who_ not of what it asked for.
  struct Happened {
    std::uint32_t pid;
    std::uint32_t lifetime;
    std::string owner;
    bool asked_for = true;
  };
  void expect_events() {
    for (const auto& [name, agent] : agents_) {
      Events wanted;
      for (const auto& one : happened_) {
        const bool hears = Model::sees(name, one.owner) && !(one.asked_for && name == who_);
        if (hears) wanted.emplace(one.pid, one.lifetime);
      }
      Events heard;
      for (const auto& event : agent->events)
        heard.emplace(event.pid.value, event.lifetime.seconds);
      EXPECT_EQ(heard, wanted) << name;
    }
  }
  Lifetime grant(Lifetime wanted) const {
    return {std::min(wanted.seconds, Model::lifetime_max(who_))};
  }
  Instant after(Lifetime lifetime) const {
    return box_.now() + std::chrono::seconds(lifetime.seconds);
  }
  void remember(std::uint32_t pid, std::uint32_t group, const std::optional<GroupId>& asked,
                ModelRule rule) {
    EXPECT_FALSE(model_.rules.contains(pid));
    if (asked) {
      EXPECT_EQ(group, asked->value);
    } else if (rule.kind != RuleKind::kDisable) {
      EXPECT_FALSE(model_.has_group(group));
      model_.groups[group] = who_;
    }
    rule.owner = who_;
    rule.group = group;
    model_.rules[pid] = std::move(rule);
  }

  // --- What a NAT gives ---

  struct Need {
    unsigned ports;
    Parity parity;
  };
  static Need need(const AddressTuple& own, const AddressTuple& other, bool sends_only, bool same) {
    const auto ports = [](const AddressTuple& t) {
      return t.form == AddressForm::kFullAddress && t.port != 0 ? t.port_range : 0U;
    };
    if (ports(own) != 0) return {ports(own), same ? parity_of(own.port) : Parity::kAny};
    if (sends_only) return {std::max(1U, ports(other)), Parity::kAny};
    return {0xFFFF, Parity::kAny};
  }
  bool has_room(std::uint8_t protocol, Need outside, Need inside) const {
    if (!model_.has_room(true, protocol, outside.ports, outside.parity)) return false;
    return mode_ != Mode::kTwiceNat ||
           model_.has_room(false, protocol, inside.ports, inside.parity);
  }
  /// What an enable rule needs on one side.
  static Need need(bool outside, const AddressTuple& internal, const AddressTuple& external,
                   PerParameterSet parameters) {
    const bool same = parameters.parity == PortParity::kSame;
    if (outside) {
      return need(internal, external, parameters.direction == Direction::kOutbound, same);
    }
    return need(external, internal, parameters.direction == Direction::kInbound, same);
  }
  /// What enable rules of `who_` have been given for the same endpoint, which a further one shares.
  std::vector<AddressTuple> bindings_of(bool outside, const PerRequest& request) const {
    std::vector<AddressTuple> result;
    const auto& own = outside ? request.internal : request.external;
    const auto wanted = need(outside, request.internal, request.external, request.parameters);
    for (const auto& [pid, rule] : model_.rules) {
      if (rule.kind != RuleKind::kEnable || rule.owner != who_) continue;
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
  static bool fits(const AddressTuple& given, Need need) {
    const bool any = given.protocol == 0 || need.ports == 0xFFFF || need.parity == Parity::kAny;
    return any || parity_of(given.port) == need.parity;
  }
  bool can_give(bool outside, const PerRequest& request) const {
    const auto there = bindings_of(outside, request);
    const auto wanted = need(outside, request.internal, request.external, request.parameters);
    if (there.empty()) {
      return model_.has_room(outside, request.internal.protocol, wanted.ports, wanted.parity);
    }
    return std::ranges::any_of(there, [&](const auto& given) { return fits(given, wanted); });
  }
  void check_binding(const AddressTuple& given, bool outside, const PerRequest& request) {
    const auto there = bindings_of(outside, request);
    const auto wanted = need(outside, request.internal, request.external, request.parameters);
    if (there.empty()) return check_given(given, outside, request.internal.protocol, wanted);
    EXPECT_NE(std::ranges::find(there, given), there.end());
    EXPECT_TRUE(fits(given, wanted));
    ++shared_;
  }
  /// The tuple that the NAT gave is free, and what was asked for.
  void check_given(const AddressTuple& given, bool outside, std::uint8_t protocol, Need need) {
    EXPECT_EQ(given.location, outside ? Location::kOutside : Location::kInside);
    EXPECT_EQ(given.protocol, protocol);
    EXPECT_EQ(given.prefix_length, 32);
    EXPECT_EQ(std::to_integer<int>(given.address[0]), outside ? 198 : 172);
    const auto address = std::to_integer<std::uint32_t>(given.address[3]);
    EXPECT_TRUE(address >= 1 && address <= kAddresses);
    const auto used = model_.taken(outside, protocol);
    const bool all = need.ports == 0xFFFF;
    const unsigned count = protocol == 0 || all ? kLastPort - kFirstPort + 1 : need.ports;
    const unsigned first = protocol == 0 ? kFirstPort : given.port;
    for (unsigned i = 0; i < count; ++i) EXPECT_FALSE(used.contains({address, first + i}));
    if (protocol == 0) return;
    EXPECT_EQ(given.port_range, count);
    EXPECT_GE(given.port, kFirstPort);
    EXPECT_LE(given.port + count - 1, kLastPort);
    if (need.parity != Parity::kAny && !all) {
      EXPECT_EQ(parity_of(given.port), need.parity);
    }
  }
  static bool is_shortage(Code code) {
    return code == kLackOfPorts || code == kLackOfAddresses || code == kParityMismatch;
  }

  // --- Transactions ---

  Asked per() {
    const auto number = protocol();
    const PerRequest request{parameters(), tuple(Location::kInternal, number),
                             tuple(Location::kExternal, number), lifetime(), some_group()};
    return {request, [this, request](const Body& reply) { check_per(request, reply); }};
  }
  void check_per(const PerRequest& request, const Body& reply) {
    const bool both = request.parameters.direction == Direction::kBidirectional;
    Code wanted = model_.check_group(who_, request.group);
    if (!wanted) wanted = model_.check_tuples(request.internal, request.external, both, false);
    if (!wanted && model_.is_disabled(request.internal, request.external)) wanted = kConflict;
    if (!wanted && request.lifetime == Lifetime{0}) wanted = kConfigurationFailed;
    if (!wanted) wanted = model_.check_resources(who_);
    const bool room =
        wanted || !model_.translates() ||
        (can_give(true, request) && (mode_ != Mode::kTwiceNat || can_give(false, request)));
    if (!room) {
      EXPECT_TRUE(is_shortage(refusal(reply)));
      return;
    }
    if (!granted(reply, wanted)) return;
    const auto& per = std::get<PerReply>(reply);
    EXPECT_EQ(per.lifetime, grant(request.lifetime));
    check_outside(per, request);
    remember(per.pid.value, per.group.value, request.group,
             {RuleKind::kEnable,
              {},
              0,
              after(per.lifetime),
              request.parameters,
              request.internal,
              request.external,
              per.outside,
              per.inside});
    happened_.push_back({per.pid.value, per.lifetime.seconds, who_});
  }
  void check_outside(const PerReply& per, const PerRequest& request) {
    if (!model_.translates()) return check_untranslated(per, request.internal, request.external);
    check_binding(per.outside, true, request);
    EXPECT_EQ(per.inside.has_value(), mode_ == Mode::kTwiceNat);
    if (per.inside) check_binding(*per.inside, false, request);
  }
  static void check_untranslated(const PerReply& per, AddressTuple outside, AddressTuple inside) {
    outside.location = Location::kOutside;
    EXPECT_EQ(per.outside, outside);
    inside.location = Location::kInside;
    EXPECT_EQ(per.inside, inside);
  }

  Asked prr() {
    PrrRequest request;
    request.parameters.nat_mode = below(8) == 0 ? NatMode::kTwice : NatMode::kTraditional;
    if (mode_ == Mode::kTwiceNat && below(8) != 0) request.parameters.nat_mode = NatMode::kTwice;
    request.parameters.parity = static_cast<ReservedParity>(below(3));
    request.parameters.protocol = protocol();
    request.parameters.port_range = static_cast<std::uint16_t>(below(12) == 0   ? 0xFFFF
                                                               : below(12) == 0 ? 0
                                                                                : 1 + below(3));
    request.lifetime = lifetime();
    request.group = some_group();
    return {request, [this, request](const Body& reply) { check_prr(request, reply); }};
  }
  void check_prr(const PrrRequest& request, const Body& reply) {
    const auto& asked = request.parameters;
    const bool twice = mode_ == Mode::kTwiceNat;
    Code wanted = model_.check_group(who_, request.group);
    if (!wanted && model_.translates() && asked.protocol == 1) wanted = kProtocolNotSupported;
    if (!wanted && asked.protocol != 0 && asked.port_range == 0) wanted = kIllegalPortRange;
    if (!wanted && everything_is_disabled(asked.protocol)) wanted = kAddressSpaceNotAvailable;
    if (!wanted && request.lifetime == Lifetime{0}) wanted = kConfigurationFailed;
    if (!wanted && model_.translates() && (asked.nat_mode == NatMode::kTwice) != twice) {
      wanted = kNatModeNotSupported;
    }
    if (!wanted) wanted = model_.check_resources(who_);
    const Parity parities[] = {Parity::kAny, Parity::kOdd, Parity::kEven};
    const Need need{asked.port_range, parities[static_cast<unsigned>(asked.parity)]};
    const bool room = wanted || !model_.translates() || has_room(asked.protocol, need, need);
    if (!room) {
      EXPECT_TRUE(is_shortage(refusal(reply)));
      return;
    }
    if (!granted(reply, wanted)) return;
    const auto& prr = std::get<PrrReply>(reply);
    EXPECT_EQ(prr.lifetime, grant(request.lifetime));
    EXPECT_EQ(prr.inside.has_value(), twice);
    if (model_.translates()) {
      check_given(prr.outside, true, asked.protocol, need);
      if (prr.inside) check_given(*prr.inside, false, asked.protocol, need);
    } else {
      EXPECT_EQ(prr.outside, test::protocols_only(Location::kOutside, asked.protocol));
    }
    ModelRule rule{RuleKind::kReserve, {},        0, after(prr.lifetime), {}, {}, {},
                   prr.outside,        prr.inside};
    rule.internal = rule.external = test::protocols_only(Location::kInternal, asked.protocol);
    remember(prr.pid.value, prr.group.value, request.group, rule);
    happened_.push_back({prr.pid.value, prr.lifetime.seconds, who_});
  }
  bool everything_is_disabled(std::uint8_t protocol) const {
    const auto is_all = [](const AddressTuple& t) {
      const bool any_port = t.protocol == 0 || t.port == 0;
      return t.form == AddressForm::kProtocolsOnly || (t.prefix_length == 0 && any_port);
    };
    return std::ranges::any_of(model_.rules, [&](const auto& entry) {
      const auto& rule = entry.second;
      const bool hit = rule.internal.protocol == 0 || rule.internal.protocol == protocol;
      return rule.kind == RuleKind::kDisable && hit && is_all(rule.internal) &&
             is_all(rule.external);
    });
  }

  Asked pea() {
    const auto pid = some_pid();
    const auto found = model_.rules.find(pid);
    const bool there = found != model_.rules.end();
    const auto number = there && below(6) != 0 ? found->second.internal.protocol : protocol();
    PeaRequest request{parameters(),
                       tuple(Location::kInternal, number),
                       tuple(Location::kExternal, number),
                       lifetime(),
                       {pid}};
    return {request, [this, request](const Body& reply) { check_pea(request, reply); }};
  }
  void check_pea(const PeaRequest& request, const Body& reply) {
    const auto pid = request.pid.value;
    const auto number = request.internal.protocol;
    const auto found = model_.rules.find(pid);
    const bool there = found != model_.rules.end();
    const bool both = request.parameters.direction == Direction::kBidirectional;
    Code wanted;
    if (!there) {
      wanted = kNoSuchRule;
    } else if (found->second.kind != RuleKind::kReserve) {
      wanted = kInconsistentRequest;
    } else if (!Model::changes(who_, found->second.owner)) {
      wanted = kRuleAccessDenied;
    }
    if (!wanted) wanted = model_.check_tuples(request.internal, request.external, both, false);
    const auto held = there ? found->second.internal.protocol : kProtocolAny;
    const bool left_open = held == kProtocolAny && !model_.translates();
    if (!wanted && held != number && !left_open) wanted = kProtocolMismatch;
    if (!wanted && model_.translates()) wanted = check_fit(found->second, request);
    if (!wanted && model_.is_disabled(request.internal, request.external)) wanted = kConflict;
    if (!wanted && request.lifetime == Lifetime{0}) wanted = kConfigurationFailed;
    if (!granted(reply, wanted)) return;
    auto& rule = found->second;
    const auto& per = std::get<PerReply>(reply);
    EXPECT_EQ(per.pid.value, pid);
    EXPECT_EQ(per.group.value, rule.group);
    EXPECT_EQ(per.lifetime, grant(request.lifetime));
    if (model_.translates()) {
      EXPECT_EQ(per.outside, rule.outside);
      EXPECT_EQ(per.inside, rule.inside);
    } else {
      check_untranslated(per, request.internal, request.external);
    }
    rule.kind = RuleKind::kEnable;
    rule.parameters = request.parameters;
    rule.internal = request.internal;
    rule.external = request.external;
    rule.outside = per.outside;
    rule.inside = per.inside;
    rule.deadline = after(per.lifetime);
    happened_.push_back({pid, per.lifetime.seconds, rule.owner});
  }
  static Code check_fit(const ModelRule& rule, const PeaRequest& request) {
    const auto fits = [&](const AddressTuple& given, bool outside) -> Code {
      auto wanted = need(outside, request.internal, request.external, request.parameters);
      if (given.protocol == 0) return std::nullopt;
      if (wanted.ports == 0xFFFF) wanted.ports = kLastPort - kFirstPort + 1;
      if (given.port_range != wanted.ports) return kInconsistentRequest;
      const bool parity = wanted.parity == Parity::kAny || wanted.parity == parity_of(given.port);
      return parity ? Code() : kParityMismatch;
    };
    const Code code = fits(rule.outside, true);
    return code || !rule.inside ? code : fits(*rule.inside, false);
  }

  Asked pdr() {
    const auto number = protocol();
    const PdrRequest request{tuple(Location::kInternal, number), tuple(Location::kExternal, number),
                             lifetime()};
    return {request, [this, request](const Body& reply) { check_pdr(request, reply); }};
  }
  void check_pdr(const PdrRequest& request, const Body& reply) {
    Code wanted;
    if (who_ == "viewer") wanted = kAgentNotAuthorized;
    if (!wanted) wanted = model_.check_tuples(request.internal, request.external, false, true);
    if (!wanted && request.lifetime == Lifetime{0}) wanted = kConfigurationFailed;
    if (!wanted) wanted = model_.check_resources(who_);
    if (!granted(reply, wanted)) return;
    const auto& pdr = std::get<PdrReply>(reply);
    EXPECT_EQ(pdr.lifetime, grant(request.lifetime));
    happened_.push_back({pdr.pid.value, pdr.lifetime.seconds, who_});
    std::erase_if(model_.rules, [&](const auto& entry) {
      const auto& rule = entry.second;
      const bool ends = rule.kind == RuleKind::kEnable && meets(rule.internal, request.internal) &&
                        meets(rule.external, request.external);
      if (ends) happened_.push_back({entry.first, 0, rule.owner, false});
      ended_ += ends ? 1 : 0;
      return ends;
    });
    remember(pdr.pid.value, 0, {},
             {RuleKind::kDisable,
              {},
              0,
              after(pdr.lifetime),
              {},
              request.internal,
              request.external,
              {},
              {}});
  }

  Asked plc() {
    const auto pid = some_pid();
    const Lifetime wish{below(3) == 0 ? 0 : below(80)};
    return {PlcRequest{{pid}, wish},
            [this, pid, wish](const Body& reply) { check_plc(pid, wish, reply); }};
  }
  void check_plc(std::uint32_t pid, Lifetime wish, const Body& reply) {
    const auto found = model_.rules.find(pid);
    Code wanted;
    if (found == model_.rules.end()) {
      wanted = kNoSuchRule;
    } else if (!Model::changes(who_, found->second.owner)) {
      wanted = kRuleAccessDenied;
    } else if (who_ == "b" && after(grant(wish)) > found->second.deadline) {
      wanted = kLifetimeNotExtendable;
    }
    if (!granted(reply, wanted)) return;
    const auto owner = found->second.owner;
    const auto lifetime = grant(wish);
    if (lifetime == Lifetime{0}) {
      EXPECT_TRUE(std::holds_alternative<PrdReply>(reply));
      model_.rules.erase(found);
    } else {
      EXPECT_EQ(std::get<PlcReply>(reply).lifetime, lifetime);
      found->second.deadline = after(lifetime);
    }
    happened_.push_back({pid, lifetime.seconds, owner});
  }

  Asked prs() {
    const auto pid = some_pid();
    return {PrsRequest{{pid}}, [this, pid](const Body& reply) { check_prs(pid, reply); }};
  }
  void check_prs(std::uint32_t pid, const Body& reply) {
    const auto found = model_.rules.find(pid);
    Code wanted;
    if (found == model_.rules.end()) {
      wanted = kNoSuchRule;
    } else if (!Model::sees(who_, found->second.owner)) {
      wanted = kRuleAccessDenied;
    }
    if (!granted(reply, wanted)) return;
    const auto& rule = found->second;
    const auto left = std::chrono::ceil<std::chrono::seconds>(rule.deadline - box_.now());
    const Lifetime lifetime{static_cast<std::uint32_t>(left.count())};
    const Owner owner{OctetsView::of(rule.owner)};
    const GroupId group{rule.group};
    auto inside = rule.external;
    inside.location = Location::kInside;
    switch (rule.kind) {
      case RuleKind::kReserve:
        EXPECT_EQ(reply, Body(PrsReply{{pid}, group, lifetime, rule.outside, rule.inside, owner}));
        break;
      case RuleKind::kEnable:
        EXPECT_EQ(reply, Body(PesReply{{pid},
                                       group,
                                       rule.parameters,
                                       rule.internal,
                                       rule.inside.value_or(inside),
                                       rule.outside,
                                       rule.external,
                                       lifetime,
                                       owner}));
        break;
      case RuleKind::kDisable:
        EXPECT_EQ(reply, Body(PdsReply{{pid}, rule.internal, rule.external, lifetime, owner}));
        break;
    }
  }

  Asked prl() {
    return {PrlRequest{}, [this](const Body& reply) { check_prl(reply); }};
  }
  void check_prl(const Body& reply) {
    std::set<std::uint32_t> listed;
    for (const auto pid : std::get<PrlReply>(reply).pids)
      EXPECT_TRUE(listed.insert(pid.value).second);
    std::set<std::uint32_t> wanted;
    for (const auto& [pid, rule] : model_.rules) {
      if (Model::sees(who_, rule.owner)) wanted.insert(pid);
    }
    EXPECT_EQ(listed, wanted);
  }

  void pass_time() {
    box_.backend.automatic = true;
    // Whole ticks, so that what is due has ended.
    box_.advance(std::chrono::milliseconds(100 * (1 + below(60))));
    std::erase_if(model_.rules, [&](const auto& entry) {
      const bool ends = entry.second.deadline <= box_.now();
      if (ends) happened_.push_back({entry.first, 0, entry.second.owner, false});
      return ends;
    });
  }

  Mode mode_;
  std::mt19937 random_;
  MiddleboxCore box_;
  Model model_;
  std::map<std::string, MiddleboxCore::Agent*> agents_;
  std::string who_;
  std::vector<Happened> happened_;
  std::uint32_t next_tid_ = 0;
  bool refused_ = false;  ///< by the backend

 public:
  std::size_t ended_ = 0;   ///< by disable rules
  std::size_t shared_ = 0;  ///< bindings
};

class EngineModel : public testing::TestWithParam<std::tuple<Mode, unsigned>> {};

TEST_P(EngineModel, AgreesOverALongRandomRun) {
  const auto [mode, seed] = GetParam();
  RandomRun run(mode, seed);
  for (int step = 0; step < 60'000; ++step) {
    run.step();
    ASSERT_FALSE(HasFailure()) << "step " << step;
  }
  EXPECT_GT(run.ended_, 50U);
  if (mode != Mode::kFirewall) {
    EXPECT_GT(run.shared_, 50U);
  }
  for (const char* reply : {"PER reply", "PRR reply", "PDR reply", "PLC reply", "PRD reply",
                            "PES reply", "PRS reply", "PDS reply", "PRL reply"}) {
    EXPECT_GT(run.outcomes[reply], 30) << reply;
  }
}

INSTANTIATE_TEST_SUITE_P(, EngineModel,
                         testing::Combine(testing::Values(Mode::kFirewall, Mode::kNat,
                                                          Mode::kTwiceNat),
                                          testing::Values(1U, 2U)));

}  // namespace
}  // namespace simco::policy
