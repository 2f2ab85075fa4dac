// Disable rules in the commit pipeline: the changes that they overtake, the rules that they end,
// and the times of their replies.
#include <gtest/gtest.h>

#include "tests/unit/commit/slow_pipeline.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;
using rule::ChangeResult;
using enum NegativeReplyCode;
using test::pinhole;
using test::PipelineFixture;
using test::refusal;

bool adds(const rule::RuleChange& change, std::uint16_t lowest_port) {
  return change.kind == rule::RuleChange::Kind::kAdd &&
         change.after.kind == rule::RuleKind::kEnable && change.after.internal.port >= lowest_port;
}

// It waits for its share of a batch and not for others' requests; those that it blocks are refused
// without having been open for a moment.
TEST(CommitPipeline, ADisableRuleOvertakesTheBacklogOfOthers) {
  constexpr std::uint16_t kBlocked = 20'000;
  Slow box;
  auto& greedy = box.agent("greedy");
  auto& other = box.agent("other");
  std::vector<std::uint32_t> blocked;
  std::vector<std::uint32_t> untouched;
  for (std::uint16_t i = 0; i < 20; ++i) {
    blocked.push_back(box.submit(greedy, wide(kBlocked + i)));
    untouched.push_back(box.submit(greedy, wide(1000 + i)));
  }
  PdrRequest block;
  block.internal = pinhole().internal;
  block.internal.port = kBlocked;
  block.internal.port_range = 2000;
  block.external = pinhole().external;
  block.external.port = 0;
  block.lifetime = {60};
  const auto disable = box.submit(other, block);
  box.commit.dispatch();
  while (!other.replies.contains(disable)) {
    ASSERT_TRUE(box.backend.busy());
    box.backend.finish();
  }
  EXPECT_LT(greedy.replies.size(), 40U) << "it has overtaken some";
  const auto batches = box.backend.batches.size();
  while (box.backend.busy()) box.backend.finish();
  ASSERT_EQ(greedy.replies.size(), 40U);
  for (std::size_t i = batches; i < box.backend.batches.size(); ++i) {
    for (const auto& change : box.backend.batches[i]) EXPECT_FALSE(adds(change, kBlocked));
  }
  std::size_t refused = 0;
  for (const auto tid : blocked) refused += refusal(greedy.replies[tid]) == kConflict;
  EXPECT_GT(refused, 0U);
  for (const auto tid : untouched) EXPECT_EQ(refusal(greedy.replies[tid]), std::nullopt);
  EXPECT_EQ(box.engine.rule_count(), untouched.size() + 1);
}

// Nor do the rules that it ends wait for their owner's requests.
TEST(CommitPipeline, TheRulesThatADisableRuleEndsWaitForNobodyElsesChanges) {
  Slow box;
  auto& greedy = box.agent("greedy");
  auto& other = box.agent("other");
  box.enable(greedy, pinhole(1));
  for (std::uint16_t i = 0; i < 20; ++i) box.submit(greedy, wide(1000 + i));
  const auto disable = box.submit(other, disabling_one(1));
  box.commit.dispatch();
  while (!other.replies.contains(disable)) {
    ASSERT_TRUE(box.backend.busy());
    box.backend.finish();
  }
  EXPECT_LT(greedy.replies.size(), 21U);
}

// Its PDR is answered when the backend has refused to remove it, and then it is tried again.
TEST(CommitPipeline, ARuleThatADisableRuleHitsEndsAlthoughTheBackendRefusesItsOwnersEnd) {
  Slow box;
  auto& greedy = box.agent("greedy");
  auto& other = box.agent("other");
  const auto pid = box.enable(greedy, pinhole(1));
  for (std::uint16_t i = 0; i < 20; ++i) box.submit(greedy, wide(1000 + i));
  const auto end = box.submit(greedy, PlcRequest{pid, {0}});
  const auto disable = box.submit(other, disabling_one(1));
  box.commit.dispatch();
  bool in_force = false;  // before the backend is asked to remove the rule
  while (box.backend.busy()) {
    std::vector<ChangeResult> results;
    for (const auto& change : box.backend.batches.back()) {
      const bool removes = change.kind == rule::RuleChange::Kind::kRemove;
      EXPECT_TRUE(!removes || in_force);
      results.push_back(removes ? ChangeResult::kRefused : ChangeResult::kDone);
    }
    for (const auto& change : box.backend.batches.back()) {
      in_force = in_force || change.rule().kind == rule::RuleKind::kDisable;
    }
    box.backend.finish(results);
  }
  EXPECT_EQ(refusal(greedy.replies[end]), kConfigurationFailed);
  EXPECT_TRUE(other.replies.contains(disable));
  box.advance(2s);
  while (box.backend.busy()) box.backend.finish();
  EXPECT_FALSE(box.engine.find(pid)) << "open against a disable rule";
  EXPECT_EQ(box.engine.rule_count(), 21U);
}

// A PDR has its effect when the rules that it hits are gone, and not before.
TEST(CommitPipeline, WhatFollowsADisableRuleFindsItsRulesGone) {
  Slow box{3};
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1));
  box.submit(agent, pinhole(3));
  box.commit.dispatch();
  box.backend.finish();
  const auto made = std::get<PerReply>(agent.replies.begin()->second);
  auto elsewhere = pinhole(5);
  elsewhere.external.address[3] = std::byte{99};
  auto member = elsewhere;
  member.group = made.group;
  const auto like = pinhole(1);
  auto all = test::protocols_only(Location::kInternal, kProtocolUdp);
  const auto pdr = box.submit(agent, PdrRequest{all, like.external, {60}});
  const auto status = box.submit(agent, PrsRequest{made.pid});
  const auto removal = box.submit(agent, PlcRequest{made.pid, {0}});
  const auto enabling =
      box.submit(agent, PeaRequest{{}, like.internal, like.external, {60}, made.pid});
  const auto joins = box.submit(agent, member);
  const auto full = box.submit(agent, elsewhere);  // two rules end for it
  const auto list = box.submit(agent, PrlRequest{});
  box.commit.dispatch();
  box.backend.finish();  // the disable rule
  EXPECT_FALSE(agent.replies.contains(pdr) || agent.replies.contains(status));
  while (box.backend.busy()) box.backend.finish();
  EXPECT_TRUE(std::holds_alternative<PdrReply>(agent.replies.at(pdr)));
  EXPECT_EQ(refusal(agent.replies.at(status)), kNoSuchRule);
  EXPECT_EQ(refusal(agent.replies.at(removal)), kNoSuchRule);
  EXPECT_EQ(refusal(agent.replies.at(enabling)), kNoSuchRule);
  EXPECT_EQ(refusal(agent.replies.at(joins)), kNoSuchGroup);
  EXPECT_TRUE(std::holds_alternative<PerReply>(agent.replies.at(full)));
  EXPECT_EQ(std::get<PrlReply>(agent.replies.at(list)).pids.size(), 2U);
  EXPECT_TRUE(box.commit.idle());
}

// Another disable rule is ending it already, and it is open as yet.
TEST(CommitPipeline, ASecondDisableRuleWaitsForTheSameRulesToEnd) {
  Slow box;
  auto& agent = box.agent("a");
  auto& other = box.agent("b");
  box.enable(agent, pinhole(1));
  const auto first = box.submit(agent, disabling_one(1));
  const auto second = box.submit(other, disabling_one(1));
  box.commit.dispatch();
  box.backend.finish();  // both disable rules are in force
  EXPECT_FALSE(agent.replies.contains(first));
  EXPECT_FALSE(other.replies.contains(second));
  ASSERT_TRUE(box.backend.busy());
  EXPECT_EQ(box.backend.batches.back()[0].kind, rule::RuleChange::Kind::kRemove);
  box.backend.finish();
  EXPECT_TRUE(agent.replies.contains(first));
  EXPECT_TRUE(other.replies.contains(second));
  EXPECT_EQ(box.engine.rule_count(), 2U);
}

// The backend has failed to remove it, and will be asked again.
TEST(CommitPipeline, ARuleThatADisableRuleHasEndedCannotBeExtended) {
  Slow box;
  auto& agent = box.agent("a");
  const auto pid = box.enable(agent, pinhole(1));
  const auto disable = box.submit(agent, disabling_one(1));
  box.commit.dispatch();
  box.backend.finish();
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_TRUE(std::holds_alternative<PdrReply>(agent.replies.at(disable))) << "it is in force";
  EXPECT_EQ(box.expiry_failures, std::vector{pid});
  ASSERT_EQ(box.engine.rule_count(), 2U);
  EXPECT_EQ(refusal(box.ask(agent, PlcRequest{pid, {60}})), kNoSuchRule);
  box.advance(2s);
  box.backend.finish();
  EXPECT_EQ(box.engine.rule_count(), 1U);
}

// The middlebox was killed between the disable rule and the end of the rules that it overlaps.
TEST(CommitPipeline, ADisableRuleFromBeforeARestartEndsWhatItHits) {
  PipelineFixture box;
  box.agent("a");
  rule::RuleRecord record;
  record.pid = {7};
  record.group = {1};
  record.owner_name = "a";
  record.internal = pinhole(1).internal;
  record.external = pinhole(1).external;
  record.expires_at = box.now() + 60s;
  auto plan = box.engine.recover(record, {60});
  ASSERT_TRUE(plan) << plan.error();
  box.engine.settle(plan->slot, plan->change, ChangeResult::kDone, box.now());
  record.pid = {8};
  record.group = {};
  record.kind = rule::RuleKind::kDisable;
  plan = box.engine.recover(record, {60});
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_TRUE(
      box.engine.settle(plan->slot, plan->change, ChangeResult::kDone, box.now()).disabling);
  EXPECT_TRUE(box.engine.end_disabled(record.pid, 1, box.now()).found_all);
  EXPECT_EQ(box.engine.rule_count(), 2U);
  box.advance(1s);
  EXPECT_EQ(box.engine.rule_count(), 1U);
}

}  // namespace
}  // namespace simco::middlebox
