#include "tests/unit/policy/random_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace simco::policy {

namespace {

test::MiddleboxCore::Options options_of_run(Mode mode) {
  constexpr auto kAddresses = Model::kAddresses;
  test::MiddleboxCore::Options result;
  result.rules_max = Model::kRulesMax;
  result.nat = {mode, {}, {}, Model::kFirstPort, Model::kLastPort, false};
  if (mode != Mode::kFirewall) {
    result.nat.outside = {{*parse_address("198.51.100.1"), kAddresses}};
  }
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

}  // namespace

RandomRun::RandomRun(Mode mode, unsigned seed)
    : random_(seed), box_(options_of_run(mode)), model_(mode) {
  for (const char* name : {"a", "b", "boss", "viewer"}) agents_[name] = &box_.agent(name);
}

void RandomRun::step() {
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

AddressTuple RandomRun::tuple(Location location, std::uint8_t protocol) {
  if (below(14) == 0) return test::protocols_only(location, protocol);
  auto result = test::ipv4(location, {10, 0, 0, static_cast<int>(below(4))}, 0, 1, protocol);
  if (location == Location::kExternal) result.address[0] = std::byte{192};
  if (below(8) == 0) result.prefix_length = static_cast<std::uint8_t>(below(33));
  if (protocol != 1 && below(6) != 0) result.port = static_cast<std::uint16_t>(5000 + below(8));
  result.port_range = static_cast<std::uint16_t>(below(4) == 0 ? 1 + below(3) : 2);
  return result;
}

std::uint8_t RandomRun::protocol() {
  constexpr std::uint8_t from[] = {17, 17, 17, 17, 6, 6, 0, 1};
  return from[below(8)];
}

PerParameterSet RandomRun::parameters() {
  return {below(2) == 0 ? PortParity::kAny : PortParity::kSame,
          static_cast<Direction>(1 + below(3))};
}

Lifetime RandomRun::lifetime() { return {below(15) == 0 ? 0 : 1 + below(80)}; }

std::uint32_t RandomRun::some_pid() {
  if (model_.rules.empty() || below(8) == 0) return below(500);
  return std::next(model_.rules.begin(), below(static_cast<std::uint32_t>(model_.rules.size())))
      ->first;
}

std::optional<GroupId> RandomRun::some_group() {
  if (below(3) != 0) return std::nullopt;
  const auto rule = model_.rules.find(some_pid());
  return GroupId{rule == model_.rules.end() ? below(100) : rule->second.group};
}

RandomRun::Asked RandomRun::some_request() {
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

RandomRun::Asked RandomRun::per() {
  const auto number = protocol();
  const PerRequest request{parameters(), tuple(Location::kInternal, number),
                           tuple(Location::kExternal, number), lifetime(), some_group()};
  return {request, [this, request](const Body& reply) { check_per(request, reply); }};
}

RandomRun::Asked RandomRun::prr() {
  PrrRequest request;
  request.parameters.nat_mode = below(8) == 0 ? NatMode::kTwice : NatMode::kTraditional;
  if (model_.is_twice_nat() && below(8) != 0) request.parameters.nat_mode = NatMode::kTwice;
  request.parameters.parity = static_cast<ReservedParity>(below(3));
  request.parameters.protocol = protocol();
  request.parameters.port_range = static_cast<std::uint16_t>(below(12) == 0   ? 0xFFFF
                                                             : below(12) == 0 ? 0
                                                                              : 1 + below(3));
  request.lifetime = lifetime();
  request.group = some_group();
  return {request, [this, request](const Body& reply) { check_prr(request, reply); }};
}

RandomRun::Asked RandomRun::pea() {
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

RandomRun::Asked RandomRun::pdr() {
  const auto number = protocol();
  const PdrRequest request{tuple(Location::kInternal, number), tuple(Location::kExternal, number),
                           lifetime()};
  return {request, [this, request](const Body& reply) { check_pdr(request, reply); }};
}

RandomRun::Asked RandomRun::plc() {
  const auto pid = some_pid();
  const Lifetime wish{below(3) == 0 ? 0 : below(80)};
  return {PlcRequest{{pid}, wish},
          [this, pid, wish](const Body& reply) { check_plc(pid, wish, reply); }};
}

RandomRun::Asked RandomRun::prs() {
  const auto pid = some_pid();
  return {PrsRequest{{pid}}, [this, pid](const Body& reply) { check_prs(pid, reply); }};
}

RandomRun::Asked RandomRun::prl() {
  return {PrlRequest{}, [this](const Body& reply) { check_prl(reply); }};
}

void RandomRun::send(const std::vector<Asked>& burst) {
  auto& agent = *agents_.at(who_);
  const bool has_pdr = std::ranges::any_of(
      burst, [](const auto& asked) { return std::holds_alternative<PdrRequest>(asked.request); });
  const bool refuses = below(12) == 0;
  box_.backend.automatic = false;
  box_.backend.refused = 0;
  const auto finish = [&] {
    std::vector<rule::ChangeResult> results;
    for (const auto& change : box_.backend.batches.back()) {
      // A rule that a disable rule could not end would be tried again for ever.
      const bool may_refuse = change.kind != rule::RuleChange::Kind::kRemove || !has_pdr;
      const bool refuse = refuses && may_refuse && below(2) == 0;
      results.push_back(refuse ? rule::ChangeResult::kRefused : rule::ChangeResult::kDone);
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

void RandomRun::pass_time() {
  box_.backend.automatic = true;
  // Whole ticks, so that what is due has ended.
  box_.advance(std::chrono::milliseconds(100 * (1 + below(60))));
  std::erase_if(model_.rules, [&](const auto& entry) {
    const bool ends = entry.second.deadline <= box_.now();
    if (ends) happened_.push_back({entry.first, 0, entry.second.owner, false});
    return ends;
  });
}

}  // namespace simco::policy
