// The rights of agents in the directory.
#include <gtest/gtest.h>

#include "tests/unit/policy/requests.hpp"

namespace simco::policy {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using test::pinhole;
using test::PipelineFixture;
using test::refusal;

TEST(Authorisation, Transactions) {
  for (std::size_t i = 0; i < kTransactions; ++i) {
    auto policy = named("a");
    policy.transactions.reset(i);
    PipelineFixture box(with(policy));
    auto& agent = box.agent("a");
    const Body requests[] = {reservation(),        pinhole(),       after({9}),  block(),
                             PlcRequest{{9}, {1}}, PrsRequest{{9}}, PrlRequest{}};
    for (std::size_t j = 0; j < kTransactions; ++j) {
      const bool refused = refusal(box.ask(agent, requests[j])) == kAgentNotAuthorized;
      EXPECT_EQ(refused, i == j) << i << " " << j;
    }
  }
}

TEST(Authorisation, WhatMayBeOpened) {
  auto policy = named("a");
  policy.internal = {*parse_prefix("10.0.0.0/24")};
  policy.external = {*parse_prefix("192.0.2.0/24"), *parse_prefix("198.51.100.0/24")};
  policy.protocols.emplace().set(kProtocolUdp);
  policy.internal_ports = {{5000, 5999}, {7000, 7000}};
  policy.external_ports = {{1024, 65535}};
  policy.external_wildcards = false;
  PipelineFixture box(with(policy));
  auto& agent = box.agent("a");
  const auto ask = [&](auto change) {
    auto request = pinhole();
    request.parameters.direction = Direction::kInbound;
    change(request);
    return refusal(box.ask(agent, request));
  };
  EXPECT_EQ(ask([](auto&) {}), std::nullopt);
  EXPECT_EQ(ask([](auto& r) { r.internal.address[2] = std::byte{1}; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.external.address[0] = std::byte{9}; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.internal.protocol = r.external.protocol = 6; }),
            kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.internal.protocol = r.external.protocol = 0; }),
            kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.internal.port = 5999; }), kAgentNotAuthorized);  // and 6000
  EXPECT_EQ(ask([](auto& r) { r.internal.port = 5998; }), std::nullopt);
  EXPECT_EQ(ask([](auto& r) { r.internal.port = 0; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.external.port = 80; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.external.prefix_length = 25; }), kWildcardingNotSupported);
  EXPECT_EQ(ask([](auto& r) { r.internal.prefix_length = 24; }), std::nullopt);
  EXPECT_EQ(ask([](auto& r) { r.internal.prefix_length = 23; }), kAgentNotAuthorized);
  EXPECT_EQ(refusal(box.ask(agent, block())), kAgentNotAuthorized);  // internal: any
  auto tcp = reservation();
  tcp.parameters.protocol = kProtocolTcp;
  EXPECT_EQ(refusal(box.ask(agent, tcp)), kAgentNotAuthorized);
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation())));
}

// RFC 5189 2.1.8: the agent is told its rights; 4.2: forbidden wildcards are not supported.
TEST(Authorisation, CapabilitiesAreTheAgents) {
  auto policy = named("a");
  policy.transactions.reset(static_cast<std::size_t>(Transaction::kPdr));
  policy.internal_wildcards = policy.protocol_wildcards = false;
  auto guard = named("guard");
  guard.external_wildcards = guard.port_wildcards = false;
  auto options = with(policy);
  options.directory.add(guard);
  PipelineFixture box(options);
  auto& agent = box.agent("a");
  const auto told = box.engine.capabilities(agent.agent());
  EXPECT_FALSE(told.disable_rules || told.internal_wildcards);
  EXPECT_TRUE(told.external_wildcards && told.port_wildcards);
  auto& other = box.agent("guard");
  const auto others = box.engine.capabilities(other.agent());
  EXPECT_TRUE(others.disable_rules && others.internal_wildcards);
  EXPECT_FALSE(others.external_wildcards || others.port_wildcards);
  const auto ask = [&](auto& who, auto change) {
    auto request = pinhole();
    request.parameters.direction = Direction::kInbound;
    change(request);
    return refusal(box.ask(who, request));
  };
  const auto internal = [](auto& r) { r.internal.prefix_length = 31; };
  const auto external = [](auto& r) { r.external.prefix_length = 31; };
  const auto port = [](auto& r) { r.external.port = 0; };
  const auto protocol = [](auto& r) { r.internal.protocol = r.external.protocol = 0; };
  EXPECT_EQ(ask(agent, internal), kWildcardingNotSupported);
  EXPECT_EQ(ask(agent, external), std::nullopt);
  EXPECT_EQ(ask(agent, port), std::nullopt);
  EXPECT_EQ(ask(agent, protocol), kWildcardingNotSupported);
  EXPECT_EQ(ask(other, internal), std::nullopt);
  EXPECT_EQ(ask(other, external), kWildcardingNotSupported);
  EXPECT_EQ(ask(other, port), kWildcardingNotSupported);
  EXPECT_EQ(ask(other, protocol), std::nullopt);
  EXPECT_EQ(refusal(box.ask(other, block())), kWildcardingNotSupported);
  auto any = reservation();
  any.parameters.protocol = kProtocolAny;
  EXPECT_EQ(refusal(box.ask(agent, any)), kWildcardingNotSupported);
}

TEST(Authorisation, OtherAgentsRules) {
  PipelineFixture::Options options;
  options.directory = {};
  auto viewer = named("viewer");
  viewer.may_see = {"a"};
  auto boss = named("boss");
  boss.may_change = {"*"};
  for (const auto& policy : {named("a"), named("b"), viewer, boss}) options.directory.add(policy);
  PipelineFixture box(options);
  auto& a = box.agent("a");
  const auto mine = std::get<PerReply>(box.ask(a, pinhole()));
  const auto held = std::get<PrrReply>(box.ask(a, reservation()));
  auto member = pinhole(9);
  member.group = mine.group;
  struct Case {
    const char* name;
    std::optional<NegativeReplyCode> status, lifetime, group, pea;
    std::size_t listed;
  };
  const Case cases[] = {
      {"b", kRuleAccessDenied, kRuleAccessDenied, kGroupAccessDenied, kRuleAccessDenied, 0},
      {"viewer", {}, kRuleAccessDenied, kGroupAccessDenied, kRuleAccessDenied, 2},
      // 5189 2.1.5: the rules of a group have one owner.
      {"boss", {}, {}, kGroupAccessDenied, {}, 2},
  };
  for (const auto& [name, status, lifetime, group, pea, listed] : cases) {
    SCOPED_TRACE(name);
    auto& agent = box.agent(name);
    EXPECT_EQ(std::get<PrlReply>(box.ask(agent, PrlRequest{})).pids.size(), listed);
    EXPECT_EQ(refusal(box.ask(agent, PrsRequest{mine.pid})), status);
    EXPECT_EQ(refusal(box.ask(agent, PlcRequest{mine.pid, {50}})), lifetime);
    EXPECT_EQ(refusal(box.ask(agent, member)), group);
    EXPECT_EQ(refusal(box.ask(agent, after(held.pid))), pea);
  }
  EXPECT_TRUE(is<PerReply>(box.ask(a, member)));
  // A rule that somebody else enabled stays its owner's.
  EXPECT_EQ(std::get<PesReply>(box.ask(a, PrsRequest{held.pid})).owner.text(), "a");
}

TEST(Authorisation, LimitsOfAnAgent) {
  auto policy = named("a");
  policy.rules_max = 2;
  policy.lifetime_max_s = 30;
  policy.may_extend = false;
  PipelineFixture box(with(policy));
  auto& agent = box.agent("a");
  EXPECT_EQ(box.engine.capabilities(agent.agent()).lifetime_max_s, 30U);
  const auto per = std::get<PerReply>(box.ask(agent, pinhole()));
  EXPECT_EQ(per.lifetime, Lifetime{30});
  box.advance(10s);
  EXPECT_EQ(refusal(box.ask(agent, PlcRequest{per.pid, {25}})), kLifetimeNotExtendable);
  EXPECT_EQ(std::get<PlcReply>(box.ask(agent, PlcRequest{per.pid, {15}})).lifetime, Lifetime{15});
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation())));
  EXPECT_EQ(refusal(box.ask(agent, pinhole(9))), kNoResources);
  EXPECT_EQ(refusal(box.ask(agent, block())), kNoResources);
  EXPECT_TRUE(is<PerReply>(box.ask(box.agent("b"), pinhole(9))));
}

// Rules are not alike: a rule of a thousand ports takes as much as a thousand others.
TEST(Authorisation, ElementsOfAnAgent) {
  auto policy = named("a");
  policy.elements_max = 10;
  PipelineFixture box(with(policy));
  auto& agent = box.agent("a");
  auto wide = pinhole();
  wide.internal.port_range = wide.external.port_range = 8;
  const auto per = std::get<PerReply>(box.ask(agent, wide));
  EXPECT_EQ(box.engine.element_count(), 8U);
  wide.internal.port += 100;
  EXPECT_EQ(refusal(box.ask(agent, wide)), kNoResources);
  EXPECT_TRUE(is<PerReply>(box.ask(agent, pinhole(9)))) << "2 ports";
  EXPECT_EQ(refusal(box.ask(agent, block())), kNoResources);
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation()))) << "lets nothing pass";
  EXPECT_TRUE(is<PerReply>(box.ask(box.agent("b"), wide)));
  box.ask(agent, PlcRequest{per.pid, {0}});
  EXPECT_TRUE(is<PerReply>(box.ask(agent, wide)));
  EXPECT_EQ(box.engine.element_count(), 18U);
}

TEST(Authorisation, NoLifetimeIsGrantedBeyondWhatTheSessionWasTold) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  agent.told_lifetime_max_s = 20;
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, pinhole())).lifetime, Lifetime{20});
}

TEST(Authorisation, ANewDirectoryCountsAtOnceAndRulesStay) {
  PipelineFixture box;
  auto& a = box.agent("a");
  const auto pid = std::get<PerReply>(box.ask(a, pinhole())).pid;
  AgentDirectory fresh;
  auto boss = named("boss");
  boss.may_see = {"a"};
  fresh.add(boss);
  auto& late = box.agent("boss");
  box.engine.apply(fresh);
  EXPECT_EQ(refusal(box.ask(a, PrsRequest{pid})), kAgentNotAuthorized);
  EXPECT_TRUE(is<PesReply>(box.ask(late, PrsRequest{pid})));
  EXPECT_EQ(box.engine.watchers().size(), 1U);
}

TEST(AgentDirectory, NamesAndAddresses) {
  AgentDirectory directory;
  EXPECT_TRUE(directory.add(named("proxy")));
  EXPECT_FALSE(directory.add(named("proxy")));
  EXPECT_TRUE(directory.add(named("anonymous@10.0.0.0/8")));
  EXPECT_FALSE(directory.add(named("anonymous@10.0.0.0/8")));
  EXPECT_TRUE(directory.add(named("anonymous@10.1.2.3")));
  EXPECT_FALSE(directory.add(named("anonymous@nowhere")));
  const auto name_for = [&](const char* address) {
    const auto* policy = directory.find_anonymous(*parse_address(address));
    return policy == nullptr ? "" : policy->name;
  };
  EXPECT_EQ(name_for("10.9.9.9"), "anonymous@10.0.0.0/8");
  EXPECT_EQ(name_for("10.1.2.3"), "anonymous@10.1.2.3");
  EXPECT_EQ(name_for("11.1.2.3"), "");
  EXPECT_EQ(name_for("::1"), "");
  EXPECT_EQ(directory.find("anonymous@10.1.2.3")->name, "anonymous@10.1.2.3");
  EXPECT_EQ(directory.find("anonymous@fe80::1%eth0"), nullptr);
  EXPECT_TRUE(directory.add(named("anonymous")));
  EXPECT_EQ(directory.find("anonymous@fe80::1%eth0")->name, "anonymous");
  EXPECT_EQ(directory.find("nobody"), nullptr);
}

}  // namespace
}  // namespace simco::policy
