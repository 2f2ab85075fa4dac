#include "middlebox/group_commit.hpp"

#include <gtest/gtest.h>

#include "tests/support/middlebox_core.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;
using backend::ChangeResult;
using enum NegativeReplyCode;
using test::MiddleboxCore;
using test::pinhole;
using test::refusal;

struct Slow : MiddleboxCore {
  Slow() { backend.automatic = false; }
};

TEST(GroupCommit, RepliesOnlyWhenTheBackendHasSpoken) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole());
  EXPECT_FALSE(box.backend.busy());
  box.commit.dispatch();
  EXPECT_TRUE(box.backend.busy());
  EXPECT_TRUE(agent.replies.empty());
  box.backend.finish();
  EXPECT_EQ(agent.replies.size(), 1U);
  EXPECT_EQ(box.batches_done, 1);
  EXPECT_TRUE(box.commit.idle());
}

TEST(GroupCommit, WhatGathersMeanwhileIsTheNextBatch) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1));
  box.commit.dispatch();
  for (std::uint16_t port = 2; port <= 10; ++port) {
    box.submit(agent, pinhole(port));
    box.commit.dispatch();
  }
  box.backend.finish();
  EXPECT_EQ(agent.replies.size(), 1U);
  ASSERT_EQ(box.backend.batches.size(), 2U);
  EXPECT_EQ(box.backend.batches[1].size(), 9U);
  box.backend.finish();
  EXPECT_EQ(agent.replies.size(), 10U);
}

TEST(GroupCommit, BatchesAreBounded) {
  MiddleboxCore box(10'000);
  auto& agent = box.agent("a");
  for (std::uint16_t port = 1; port <= 3000; ++port) box.submit(agent, pinhole(port));
  box.commit.dispatch();
  ASSERT_EQ(box.backend.batches.size(), 3U);
  for (const auto& batch : box.backend.batches) EXPECT_LE(batch.size(), 1024U);
  EXPECT_EQ(agent.replies.size(), 3000U);
}

TEST(GroupCommit, OnlyTheGuiltyOneIsRefused) {
  Slow box;
  auto& agent = box.agent("a");
  auto& colleague = box.agent("a");
  const auto first = box.submit(agent, pinhole(1));
  const auto second = box.submit(agent, pinhole(2));
  const auto third = box.submit(agent, pinhole(3));
  const auto fourth = box.submit(agent, pinhole(4));
  box.commit.dispatch();
  box.backend.finish({ChangeResult::kDone, ChangeResult::kRefused, ChangeResult::kNoResources});
  EXPECT_TRUE(std::holds_alternative<PerReply>(agent.replies[first]));
  EXPECT_EQ(refusal(agent.replies[second]), kConfigurationFailed);
  EXPECT_EQ(refusal(agent.replies[third]), kNoResources);
  EXPECT_TRUE(std::holds_alternative<PerReply>(agent.replies[fourth]));
  EXPECT_EQ(box.engine.rule_count(), 2U);
  EXPECT_EQ(box.engine.group_count(), 2U);
  EXPECT_EQ(colleague.events.size(), 2U);
}

TEST(GroupCommit, ARuleUnderWayIsSeenByNobody) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole());
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].pid;
  const auto status = box.submit(agent, PrsRequest{pid});
  EXPECT_EQ(refusal(agent.replies.at(status)), kNoSuchRule);
  const auto change = box.submit(agent, PlcRequest{pid, {0}});
  EXPECT_EQ(refusal(agent.replies.at(change)), kNoSuchRule);
  const auto list = box.submit(agent, PrlRequest{});
  EXPECT_TRUE(std::get<PrlReply>(agent.replies.at(list)).pids.empty());
  box.backend.finish();
}

TEST(GroupCommit, RequestsAboutOneRuleKeepTheirOrder) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole());
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].pid;
  box.backend.finish();
  const auto longer = box.submit(agent, PlcRequest{pid, {100}});
  const auto shorter = box.submit(agent, PlcRequest{pid, {50}});
  const auto end = box.submit(agent, PlcRequest{pid, {0}});
  const auto late = box.submit(agent, PlcRequest{pid, {10}});
  box.commit.dispatch();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(box.backend.batches.back().size(), 1U);
    box.backend.finish();
  }
  EXPECT_EQ(std::get<PlcReply>(agent.replies.at(longer)).lifetime, Lifetime{100});
  EXPECT_EQ(std::get<PlcReply>(agent.replies.at(shorter)).lifetime, Lifetime{50});
  EXPECT_TRUE(std::holds_alternative<PrdReply>(agent.replies.at(end)));
  EXPECT_EQ(refusal(agent.replies.at(late)), kNoSuchRule);
  EXPECT_TRUE(box.commit.idle());
}

// Thousands of requests about one rule in one read: each is looked at a bounded number of times.
TEST(GroupCommit, ManyRequestsAboutOneRuleCostNoMoreThanTheirNumber) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  auto& other = box.agent("a");
  const auto reply = box.ask(agent, pinhole());
  const PolicyRuleId pid = std::get<PerReply>(reply).pid;
  constexpr std::uint32_t kCount = 20'000;
  for (std::uint32_t i = 1; i <= kCount; ++i) box.submit(agent, PlcRequest{pid, {1 + i % 100}});
  box.commit.dispatch();
  EXPECT_TRUE(box.commit.idle());
  EXPECT_EQ(agent.replies.size(), kCount + 1);
  ASSERT_EQ(other.events.size(), kCount + 1);
  for (std::uint32_t i = 1; i <= kCount; ++i) {
    ASSERT_EQ(other.events[i].lifetime, Lifetime{1 + i % 100});
  }
}

TEST(GroupCommit, AStatusRequestFindsTheRuleAsTheRequestBeforeItLeftIt) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1, 60));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].pid;
  box.backend.finish();
  box.submit(agent, PlcRequest{pid, {90}});
  const auto longer = box.submit(agent, PrsRequest{pid});
  box.submit(agent, PlcRequest{pid, {0}});
  const auto gone = box.submit(agent, PrsRequest{pid});
  box.commit.dispatch();
  EXPECT_FALSE(agent.replies.contains(longer));
  box.backend.finish();
  box.commit.dispatch();
  EXPECT_EQ(std::get<PesReply>(agent.replies.at(longer)).lifetime, Lifetime{90});
  EXPECT_FALSE(agent.replies.contains(gone));
  box.backend.finish();
  EXPECT_EQ(refusal(agent.replies.at(gone)), kNoSuchRule);
}

TEST(GroupCommit, ARemovalThatFailsLeavesTheRuleAsItWas) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1, 60));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].pid;
  box.backend.finish();
  const auto end = box.submit(agent, PlcRequest{pid, {0}});
  box.commit.dispatch();
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_EQ(refusal(agent.replies.at(end)), kConfigurationFailed);
  const auto status = box.submit(agent, PrsRequest{pid});
  EXPECT_EQ(std::get<PesReply>(agent.replies.at(status)).lifetime, Lifetime{60});
}

TEST(GroupCommit, AnExpiredRuleThatCannotBeRemovedIsTriedAgain) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1, 60));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].pid;
  box.backend.finish();
  box.advance(61s);
  ASSERT_TRUE(box.backend.busy());
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_EQ(box.expiry_failures, std::vector{pid});
  EXPECT_EQ(box.engine.rule_count(), 1U);
  EXPECT_TRUE(agent.events.empty());
  box.advance(2s);
  ASSERT_TRUE(box.backend.busy());
  box.backend.finish();
  EXPECT_EQ(box.engine.rule_count(), 0U);
  EXPECT_EQ(agent.events.size(), 1U);
}

TEST(GroupCommit, ARuleIsNotEndedTwiceWhileItsEndIsUnderWay) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1, 60));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].pid;
  box.backend.finish();
  box.submit(agent, PlcRequest{pid, {0}});
  box.commit.dispatch();
  box.advance(100s);  // its lifetime ends meanwhile
  box.backend.finish();
  EXPECT_EQ(box.backend.batches.size(), 2U);
  EXPECT_EQ(box.engine.rule_count(), 0U);
}

}  // namespace
}  // namespace simco::middlebox
