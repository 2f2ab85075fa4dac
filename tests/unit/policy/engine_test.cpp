#include "middlebox/policy/engine.hpp"

#include <gtest/gtest.h>

#include "tests/unit/policy/requests.hpp"

namespace simco::policy {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using test::pinhole;
using test::PipelineFixture;
using test::refusal;

TEST(Engine, PerOnAFirewall) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  const auto request = pinhole();
  const auto reply = box.ask(agent, request);
  const auto& per = std::get<PerReply>(reply);
  EXPECT_NE(per.pid.value, 0U);
  EXPECT_NE(per.group.value, 0U);
  EXPECT_EQ(per.lifetime, Lifetime{60});
  // 8.3.2: internal is reported as outside, external as inside.
  auto outside = request.internal;
  outside.location = Location::kOutside;
  auto inside = request.external;
  inside.location = Location::kInside;
  EXPECT_EQ(per.outside, outside);
  EXPECT_EQ(per.inside, inside);
  ASSERT_EQ(box.backend.batches.size(), 1U);
  const auto& change = box.backend.batches[0].at(0);
  EXPECT_EQ(change.kind, rule::RuleChange::Kind::kAdd);
  EXPECT_EQ(change.after.kind, rule::RuleKind::kEnable);
  EXPECT_EQ(change.after.pid, per.pid);
  EXPECT_EQ(change.after.internal, request.internal);
  EXPECT_EQ(change.after.external, request.external);
  EXPECT_EQ(change.after.parameters, request.parameters);
  EXPECT_EQ(change.lifetime, Lifetime{60});
}

TEST(Engine, HostBitsAreReportedAsRequested) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  auto request = pinhole();
  request.parameters.direction = Direction::kInbound;
  request.external.prefix_length = 24;
  const auto pid = std::get<PerReply>(box.ask(agent, request)).pid;
  const auto reply = box.ask(agent, PrsRequest{pid});
  const auto& status = std::get<PesReply>(reply);
  EXPECT_EQ(status.internal, request.internal);
  EXPECT_EQ(status.external, request.external);
  EXPECT_EQ(status.parameters, request.parameters);
  EXPECT_EQ(status.owner.text(), "a");
}

TEST(Engine, Groups) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  auto& stranger = box.agent("b");
  const auto first = std::get<PerReply>(box.ask(agent, pinhole(1)));
  const auto second = std::get<PerReply>(box.ask(agent, pinhole(2)));
  EXPECT_NE(first.group, second.group);
  auto member = pinhole(3);
  member.group = first.group;
  const auto third = std::get<PerReply>(box.ask(agent, member));
  EXPECT_EQ(third.group, first.group);
  EXPECT_EQ(refusal(box.ask(stranger, member)), kGroupAccessDenied);
  // The group lives as long as one of its rules does.
  box.ask(agent, PlcRequest{first.pid, {0}});
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, member)).group, first.group);
  member.group = GroupId{999};
  EXPECT_EQ(refusal(box.ask(agent, member)), kNoSuchGroup);
  member.group = second.group;
  box.ask(agent, PlcRequest{second.pid, {0}});
  EXPECT_EQ(refusal(box.ask(agent, member)), kNoSuchGroup);
  // Group checks come before those of the tuples.
  member.internal.location = Location::kOutside;
  EXPECT_EQ(refusal(box.ask(agent, member)), kNoSuchGroup);
}

TEST(Engine, PlcChangesAndEndsRules) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  auto& stranger = box.agent("b");
  const auto pid = std::get<PerReply>(box.ask(agent, pinhole())).pid;
  EXPECT_EQ(refusal(box.ask(agent, PlcRequest{{77}, {1}})), kNoSuchRule);
  EXPECT_EQ(refusal(box.ask(stranger, PlcRequest{pid, {1}})), kRuleAccessDenied);
  EXPECT_EQ(std::get<PlcReply>(box.ask(agent, PlcRequest{pid, {100}})).lifetime, Lifetime{100});
  box.advance(99s);
  EXPECT_EQ(std::get<PesReply>(box.ask(agent, PrsRequest{pid})).lifetime, Lifetime{1});
  EXPECT_TRUE(std::holds_alternative<PrdReply>(box.ask(agent, PlcRequest{pid, {0}})));
  EXPECT_EQ(refusal(box.ask(agent, PrsRequest{pid})), kNoSuchRule);
  EXPECT_EQ(box.engine.rule_count(), 0U);
  EXPECT_EQ(box.engine.group_count(), 0U);
}

TEST(Engine, PrlListsWhatTheAgentMayAccess) {
  PipelineFixture box(20'000);
  auto& agent = box.agent("a");
  auto& stranger = box.agent("b");
  std::vector<PolicyRuleId> pids;
  for (std::uint16_t i = 0; i < kRuleListMax; ++i) {
    pids.push_back(
        std::get<PerReply>(box.ask(agent, pinhole(static_cast<std::uint16_t>(i + 1)))).pid);
  }
  EXPECT_EQ(std::get<PrlReply>(box.ask(agent, PrlRequest{})).pids, pids);
  EXPECT_TRUE(std::get<PrlReply>(box.ask(stranger, PrlRequest{})).pids.empty());
  const auto last = std::get<PerReply>(box.ask(agent, pinhole(60'000))).pid;
  EXPECT_EQ(refusal(box.ask(agent, PrlRequest{})), kReplyTooBig);
  box.ask(agent, PlcRequest{last, {0}});
  EXPECT_EQ(std::get<PrlReply>(box.ask(agent, PrlRequest{})).pids.size(), kRuleListMax);
}

TEST(Engine, RulesEndWithTheirLifetimeAndEverybodyHears) {
  PipelineFixture box;
  auto& creator = box.agent("a");
  auto& colleague = box.agent("a");
  auto& stranger = box.agent("b");
  const auto pid = std::get<PerReply>(box.ask(creator, pinhole(1, 60))).pid;
  box.advance(60s - 1ns);
  EXPECT_EQ(std::get<PesReply>(box.ask(creator, PrsRequest{pid})).lifetime, Lifetime{1});
  box.advance(1ns);
  EXPECT_EQ(refusal(box.ask(creator, PrsRequest{pid})), kNoSuchRule);
  EXPECT_EQ(refusal(box.ask(creator, PlcRequest{pid, {60}})), kNoSuchRule);
  box.advance(100ms);
  EXPECT_EQ(box.engine.rule_count(), 0U);
  // Expiry is caused by nobody: the creator hears of it too.
  ASSERT_EQ(creator.events.size(), 1U);
  EXPECT_EQ(creator.events[0].pid, pid);
  EXPECT_EQ(creator.events[0].lifetime, Lifetime{0});
  ASSERT_EQ(colleague.events.size(), 2U);
  EXPECT_EQ(colleague.events[0].lifetime, Lifetime{60});
  EXPECT_TRUE(stranger.events.empty());
  EXPECT_EQ(box.backend.batches.back().at(0).kind, rule::RuleChange::Kind::kRemove);
}

TEST(Engine, EventsGoToEverybodyButTheCause) {
  PipelineFixture box;
  auto& one = box.agent("a");
  auto& two = box.agent("a");
  const auto pid = std::get<PerReply>(box.ask(one, pinhole())).pid;
  box.ask(two, PlcRequest{pid, {30}});
  box.ask(one, PlcRequest{pid, {0}});
  ASSERT_EQ(one.events.size(), 1U);
  EXPECT_EQ(one.events[0].lifetime, Lifetime{30});
  ASSERT_EQ(two.events.size(), 2U);
  EXPECT_EQ(two.events[0].lifetime, Lifetime{60});
  EXPECT_EQ(two.events[1].lifetime, Lifetime{0});
}

// 8.2.1, 8.3.1, 8.4.1, 8.5, 8.8.2: at most the request's lifetime and that of the session's
// capabilities.
TEST(Engine, EachRequestGetsAtMostTheMaximum) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  agent.told_lifetime_max_s = 50;
  const auto prr = std::get<PrrReply>(box.ask(agent, reservation()));
  EXPECT_EQ(prr.lifetime, Lifetime{50});
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, after(prr.pid))).lifetime, Lifetime{50});
  const auto per = std::get<PerReply>(box.ask(agent, pinhole(7004)));
  EXPECT_EQ(per.lifetime, Lifetime{50});
  const auto changed = [&](Lifetime wanted) {
    return std::get<PlcReply>(box.ask(agent, PlcRequest{per.pid, wanted})).lifetime;
  };
  EXPECT_EQ(changed({51}), Lifetime{50});
  EXPECT_EQ(changed({49}), Lifetime{49});
  EXPECT_EQ(std::get<PdrReply>(box.ask(agent, block())).lifetime, Lifetime{50});
}

TEST(Engine, RulesOutliveTheirAgentsSessions) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  const auto pid = std::get<PerReply>(box.ask(agent, pinhole())).pid;
  box.engine.release(agent.agent());
  EXPECT_EQ(box.engine.agent_count(), 1U);
  auto& again = box.agent("a");
  EXPECT_TRUE(std::holds_alternative<PesReply>(box.ask(again, PrsRequest{pid})));
  box.engine.release(again.agent());
  box.advance(61s);
  EXPECT_EQ(box.engine.agent_count(), 0U);
}

}  // namespace
}  // namespace simco::policy
