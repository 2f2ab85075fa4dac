// What the model says of replies and events.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/policy/random_run.hpp"

namespace simco::policy {

using enum NegativeReplyCode;
using test::refusal;

namespace {

void check_untranslated(const PerReply& per, AddressTuple outside, AddressTuple inside) {
  outside.location = Location::kOutside;
  EXPECT_EQ(per.outside, outside);
  inside.location = Location::kInside;
  EXPECT_EQ(per.inside, inside);
}

}  // namespace

bool RandomRun::granted(const Body& reply, Code wanted) {
  refused_ = !wanted && refusal(reply) == kConfigurationFailed;
  if (refused_) return false;
  EXPECT_EQ(refusal(reply), wanted);
  return !wanted && !refusal(reply);
}

void RandomRun::check_per(const PerRequest& request, const Body& reply) {
  const bool both = request.parameters.direction == Direction::kBidirectional;
  Code wanted = model_.check_group(who_, request.group);
  if (!wanted) wanted = model_.check_tuples(request.internal, request.external, both, false);
  if (!wanted && model_.is_disabled(request.internal, request.external)) wanted = kConflict;
  if (!wanted && request.lifetime == Lifetime{0}) wanted = kConfigurationFailed;
  if (!wanted) wanted = model_.check_resources(who_);
  const bool room = wanted || !model_.translates() || model_.can_give(who_, request);
  if (!room) {
    EXPECT_TRUE(Model::is_shortage(refusal(reply)));
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

void RandomRun::check_outside(const PerReply& per, const PerRequest& request) {
  if (!model_.translates()) return check_untranslated(per, request.internal, request.external);
  check_binding(per.outside, true, request);
  EXPECT_EQ(per.inside.has_value(), model_.is_twice_nat());
  if (per.inside) check_binding(*per.inside, false, request);
}

void RandomRun::check_prr(const PrrRequest& request, const Body& reply) {
  const auto& asked = request.parameters;
  const bool twice = model_.is_twice_nat();
  Code wanted = model_.check_group(who_, request.group);
  if (!wanted && model_.translates() && asked.protocol == 1) wanted = kProtocolNotSupported;
  if (!wanted && asked.protocol != 0 && asked.port_range == 0) wanted = kIllegalPortRange;
  if (!wanted && model_.everything_is_disabled(asked.protocol)) wanted = kAddressSpaceNotAvailable;
  if (!wanted && request.lifetime == Lifetime{0}) wanted = kConfigurationFailed;
  if (!wanted && model_.translates() && (asked.nat_mode == NatMode::kTwice) != twice) {
    wanted = kNatModeNotSupported;
  }
  if (!wanted) wanted = model_.check_resources(who_);
  const Parity parities[] = {Parity::kAny, Parity::kOdd, Parity::kEven};
  const Need need{asked.port_range, parities[static_cast<unsigned>(asked.parity)]};
  const bool room = wanted || !model_.translates() || model_.has_room(asked.protocol, need, need);
  if (!room) {
    EXPECT_TRUE(Model::is_shortage(refusal(reply)));
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

void RandomRun::check_pea(const PeaRequest& request, const Body& reply) {
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
  if (!wanted && model_.translates()) wanted = Model::check_fit(found->second, request);
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

void RandomRun::check_pdr(const PdrRequest& request, const Body& reply) {
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
    ended += ends ? 1 : 0;
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

void RandomRun::check_plc(std::uint32_t pid, Lifetime wish, const Body& reply) {
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

void RandomRun::check_prs(std::uint32_t pid, const Body& reply) {
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

void RandomRun::check_prl(const Body& reply) {
  std::set<std::uint32_t> listed;
  for (const auto pid : std::get<PrlReply>(reply).pids) {
    EXPECT_TRUE(listed.insert(pid.value).second);
  }
  std::set<std::uint32_t> wanted;
  for (const auto& [pid, rule] : model_.rules) {
    if (Model::sees(who_, rule.owner)) wanted.insert(pid);
  }
  EXPECT_EQ(listed, wanted);
}

void RandomRun::check_binding(const AddressTuple& given, bool outside, const PerRequest& request) {
  const auto there = model_.bindings_of(who_, outside, request);
  const auto wanted = Model::need(outside, request.internal, request.external, request.parameters);
  if (there.empty()) return check_given(given, outside, request.internal.protocol, wanted);
  EXPECT_NE(std::ranges::find(there, given), there.end());
  EXPECT_TRUE(Model::fits(given, wanted));
  ++shared;
}

void RandomRun::check_given(const AddressTuple& given, bool outside, std::uint8_t protocol,
                            Need need) {
  EXPECT_EQ(given.location, outside ? Location::kOutside : Location::kInside);
  EXPECT_EQ(given.protocol, protocol);
  EXPECT_EQ(given.prefix_length, 32);
  EXPECT_EQ(std::to_integer<int>(given.address[0]), outside ? 198 : 172);
  const auto address = std::to_integer<std::uint32_t>(given.address[3]);
  EXPECT_TRUE(address >= 1 && address <= Model::kAddresses);
  const auto used = model_.taken(outside, protocol);
  const bool all = need.ports == 0xFFFF;
  const unsigned count =
      protocol == 0 || all ? Model::kLastPort - Model::kFirstPort + 1 : need.ports;
  const unsigned first = protocol == 0 ? Model::kFirstPort : given.port;
  for (unsigned i = 0; i < count; ++i) EXPECT_FALSE(used.contains({address, first + i}));
  if (protocol == 0) return;
  EXPECT_EQ(given.port_range, count);
  EXPECT_GE(given.port, Model::kFirstPort);
  EXPECT_LE(given.port + count - 1, Model::kLastPort);
  if (need.parity != Parity::kAny && !all) {
    EXPECT_EQ(parity_of(given.port), need.parity);
  }
}

Lifetime RandomRun::grant(Lifetime wanted) const {
  return {std::min(wanted.seconds, Model::lifetime_max(who_))};
}

Instant RandomRun::after(Lifetime lifetime) const {
  return box_.now() + std::chrono::seconds(lifetime.seconds);
}

void RandomRun::remember(std::uint32_t pid, std::uint32_t group,
                         const std::optional<GroupId>& asked, ModelRule rule) {
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

void RandomRun::expect_events() {
  for (const auto& [name, agent] : agents_) {
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> wanted;
    for (const auto& one : happened_) {
      const bool hears = Model::sees(name, one.owner) && !(one.asked_for && name == who_);
      if (hears) wanted.emplace(one.pid, one.lifetime);
    }
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> heard;
    for (const auto& event : agent->events) {
      heard.emplace(event.pid.value, event.lifetime.seconds);
    }
    EXPECT_EQ(heard, wanted) << name;
  }
}

}  // namespace simco::policy
