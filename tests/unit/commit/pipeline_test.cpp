#include "middlebox/commit/pipeline.hpp"

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

TEST(CommitPipeline, WhatGathersMeanwhileIsTheNextBatch) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1));
  box.commit.dispatch();
  for (std::uint16_t port = 2; port <= 10; ++port) {
    box.submit(agent, pinhole(port));
    box.commit.dispatch();
  }
  EXPECT_TRUE(agent.replies.empty());
  box.backend.finish();
  EXPECT_EQ(agent.replies.size(), 1U);
  ASSERT_EQ(box.backend.batches.size(), 2U);
  EXPECT_EQ(box.backend.batches[1].size(), 9U);
  box.backend.finish();
  EXPECT_EQ(agent.replies.size(), 10U);
}

TEST(CommitPipeline, BatchesAreBounded) {
  PipelineFixture box(10'000);
  auto& agent = box.agent("a");
  for (std::uint16_t port = 1; port <= 3000; ++port) box.submit(agent, pinhole(port));
  box.commit.dispatch();
  ASSERT_GE(box.backend.batches.size(), 3U);
  for (const auto& batch : box.backend.batches) EXPECT_LE(batch.size(), 1024U);
  EXPECT_EQ(agent.replies.size(), 3000U);
}

// An agent's requests may take the kernel seconds: another waits for its share of a batch.
TEST(CommitPipeline, EachAgentHasItsShareOfABatch) {
  Slow box;
  auto& greedy = box.agent("greedy");
  auto& other = box.agent("other");
  for (std::uint16_t i = 0; i < 50; ++i) box.submit(greedy, wide(1000 + i));
  box.commit.dispatch();
  const auto call = box.submit(other, pinhole(1));
  box.backend.finish();
  ASSERT_EQ(box.backend.batches.size(), 2U);
  EXPECT_LE(box.backend.batches[0].size(), 5U) << "bounded by what it asks of the backend";
  EXPECT_LE(box.backend.batches[1].size(), 4U);
  box.backend.finish();
  EXPECT_TRUE(std::holds_alternative<PerReply>(other.replies.at(call)));
  EXPECT_LT(greedy.replies.size(), 12U);
  while (box.backend.busy()) box.backend.finish();
  EXPECT_EQ(greedy.replies.size(), 50U);
  std::uint32_t last = 0;
  for (const auto& [tid, reply] : greedy.replies) {
    const auto pid = std::get<PerReply>(reply).pid.value;
    EXPECT_GT(pid, last);
    last = pid;
  }
}

// A change that the kernel cannot make by a mask costs it as much as many others.
TEST(CommitPipeline, RulesOfLargeRangesAndPrefixesWeighMore) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1));
  box.commit.dispatch();
  for (std::uint16_t i = 0; i < 100; ++i) {
    auto range = pinhole(1000 + i);
    range.parameters.direction = Direction::kInbound;
    range.internal.port_range = 2000;
    range.external.port = 0;
    box.submit(agent, range);
    auto prefix = pinhole(1000 + i);
    prefix.parameters.direction = Direction::kInbound;
    prefix.external.prefix_length = 24;
    box.submit(agent, prefix);
  }
  for (std::uint16_t i = 0; i < 100; ++i) box.submit(agent, pinhole(1000 + i));
  while (box.backend.busy()) box.backend.finish();
  for (const auto& batch : box.backend.batches) {
    EXPECT_LE(
        std::ranges::count(batch, Direction::kInbound,
                           [](const auto& change) { return change.after.parameters.direction; }),
        32);
  }
  EXPECT_EQ(agent.replies.size(), 301U);
  for (const auto& [tid, reply] : agent.replies) EXPECT_EQ(refusal(reply), std::nullopt);
}

// A change that many sessions hear of takes longer than others.
TEST(CommitPipeline, WhatManySessionsHearCountsInTheShareOfABatch) {
  constexpr std::size_t kSessions = 200;
  constexpr std::uint16_t kRules = 500;
  Slow box;
  std::vector<PipelineFixture::Agent*> sessions;
  for (std::size_t i = 0; i < kSessions; ++i) sessions.push_back(&box.agent("greedy"));
  auto& other = box.agent("other");
  for (std::uint16_t port = 1; port <= kRules; ++port) box.submit(*sessions[0], pinhole(port));
  const auto late = box.submit(other, pinhole(10'000));
  box.commit.dispatch();
  std::size_t heard = 0;
  for (std::size_t turns = 0; box.backend.busy(); ++turns) {
    box.backend.finish();
    std::size_t now = 0;
    for (const auto* session : sessions) now += session->events.size();
    EXPECT_LE(now - heard, kBatchWeight * kDeliveriesPerWeight);
    heard = now;
    EXPECT_TRUE(turns != 0 || other.replies.contains(late));
  }
  EXPECT_EQ(heard, (kSessions - 1) * kRules);
}

TEST(CommitPipeline, OnlyTheGuiltyOneIsRefused) {
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

TEST(CommitPipeline, ARuleUnderWayIsSeenByNobodyAndAListWaitsForIt) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole());
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].after.pid;
  const auto status = box.submit(agent, PrsRequest{pid});
  EXPECT_EQ(refusal(agent.replies.at(status)), kNoSuchRule);
  const auto change = box.submit(agent, PlcRequest{pid, {0}});
  EXPECT_EQ(refusal(agent.replies.at(change)), kNoSuchRule);
  auto& other = box.agent("a");
  const auto list = box.submit(agent, PrlRequest{});
  const auto others = box.submit(other, PrlRequest{});
  box.commit.dispatch();
  EXPECT_FALSE(agent.replies.contains(list));
  // Another session has asked for nothing that it would have to wait for.
  EXPECT_TRUE(std::get<PrlReply>(other.replies.at(others)).pids.empty());
  box.submit(other, pinhole(9));  // later than the list
  box.commit.dispatch();
  box.backend.finish();
  EXPECT_EQ(std::get<PrlReply>(agent.replies.at(list)).pids.size(), 1U);
  box.backend.finish();
}

// The order of requests is that of a session: others' pending changes delay no request.
TEST(CommitPipeline, AListAndARefusalWaitForNobodyElsesChanges) {
  Slow box(2);
  auto& greedy = box.agent("greedy");
  auto& other = box.agent("other");
  box.submit(greedy, pinhole(1));
  box.submit(greedy, pinhole(2));
  box.commit.dispatch();
  const auto list = box.submit(other, PrlRequest{});
  EXPECT_TRUE(std::get<PrlReply>(other.replies.at(list)).pids.empty());
  const auto full = box.submit(other, pinhole(3));
  EXPECT_EQ(refusal(other.replies.at(full)), kNoResources);
  const auto own = box.submit(greedy, pinhole(4));
  EXPECT_FALSE(greedy.replies.contains(own)) << "one of its own may yet fail";
  box.backend.finish({ChangeResult::kRefused});
  box.backend.finish();
  EXPECT_TRUE(std::holds_alternative<PerReply>(greedy.replies.at(own)));
}

TEST(CommitPipeline, RequestsAboutOneRuleKeepTheirOrder) {
  Slow box;
  auto& agent = box.agent("a");
  const PolicyRuleId pid = box.enable(agent, pinhole());
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
TEST(CommitPipeline, ManyRequestsAboutOneRuleCostNoMoreThanTheirNumber) {
  PipelineFixture box;
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

TEST(CommitPipeline, AStatusRequestFindsTheRuleAsTheRequestBeforeItLeftIt) {
  Slow box;
  auto& agent = box.agent("a");
  const PolicyRuleId pid = box.enable(agent, pinhole(1, 60));
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

// RFC 5189 2.1.4: on one session, a later request is decided as if it had been sent later.
TEST(CommitPipeline, ARefusalWaitsForTheChangesThatCameBefore) {
  for (const bool ends : {true, false}) {
    Slow box{1};
    auto& agent = box.agent("a");
    const PolicyRuleId pid = box.enable(agent, pinhole(1));
    const auto removal = box.submit(agent, PlcRequest{pid, {0}});
    const auto per = box.submit(agent, pinhole(2));  // no room, unless the removal makes it
    const auto list = box.submit(agent, PrlRequest{});
    box.commit.dispatch();
    EXPECT_FALSE(agent.replies.contains(per));
    box.backend.finish({ends ? ChangeResult::kDone : ChangeResult::kRefused});
    EXPECT_EQ(refusal(agent.replies.at(removal)),
              ends ? std::nullopt : std::optional(kConfigurationFailed));
    if (box.backend.busy()) box.backend.finish();
    EXPECT_EQ(refusal(agent.replies.at(per)), ends ? std::nullopt : std::optional(kNoResources));
    EXPECT_EQ(std::get<PrlReply>(agent.replies.at(list)).pids.size(), 1U);
    EXPECT_TRUE(box.commit.idle());
  }
}

TEST(CommitPipeline, AGroupThatIsAboutToGoIsNotJoined) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1));
  box.commit.dispatch();
  box.backend.finish();
  const auto made = std::get<PerReply>(agent.replies.begin()->second);
  auto member = pinhole(2);
  member.group = made.group;
  const auto removal = box.submit(agent, PlcRequest{made.pid, {0}});
  const auto per = box.submit(agent, member);
  box.commit.dispatch();
  box.backend.finish({ChangeResult::kRefused});
  box.backend.finish();
  EXPECT_EQ(refusal(agent.replies.at(removal)), kConfigurationFailed);
  EXPECT_EQ(std::get<PerReply>(agent.replies.at(per)).group, made.group);
  const auto second = std::get<PerReply>(agent.replies.at(per)).pid;
  // The other member stays, so that nothing has to wait.
  box.submit(agent, PlcRequest{made.pid, {0}});
  const auto third = box.submit(agent, member);
  box.commit.dispatch();
  ASSERT_EQ(box.backend.batches.back().size(), 2U);
  box.backend.finish();
  const auto third_pid = std::get<PerReply>(agent.replies.at(third)).pid;
  box.submit(agent, PlcRequest{second, {0}});
  box.submit(agent, PlcRequest{third_pid, {0}});
  const auto late = box.submit(agent, member);
  box.commit.dispatch();
  EXPECT_FALSE(agent.replies.contains(late));
  box.backend.finish();
  EXPECT_EQ(refusal(agent.replies.at(late)), kNoSuchGroup);
}

// Others' changes that come later are not waited for, however many there are.
TEST(CommitPipeline, NobodysChangesHoldUpAnother) {
  Slow box{2};
  auto& agent = box.agent("a");
  auto& busy = box.agent("b");
  const PolicyRuleId pid = box.enable(busy, pinhole(1));
  box.submit(agent, pinhole(2));
  box.submit(busy, PlcRequest{pid, {60}});
  const auto refused = box.submit(agent, pinhole(3));  // waits for these two
  const auto behind = box.submit(agent, PrsRequest{pid});
  box.commit.dispatch();
  box.submit(busy, PlcRequest{pid, {61}});
  box.submit(busy, PlcRequest{pid, {62}});
  box.commit.dispatch();
  EXPECT_FALSE(agent.replies.contains(refused) || agent.replies.contains(behind));
  box.backend.finish();
  EXPECT_EQ(refusal(agent.replies.at(refused)), kNoResources);
  // Which asks about a rule that has the second of them under way, and then goes first.
  EXPECT_FALSE(agent.replies.contains(behind));
  box.submit(busy, PlcRequest{pid, {63}});
  box.backend.finish();
  EXPECT_TRUE(box.backend.busy());
  box.backend.finish();
  EXPECT_EQ(refusal(agent.replies.at(behind)), NegativeReplyCode::kRuleAccessDenied);
  EXPECT_TRUE(box.backend.busy());
  while (box.backend.busy()) box.backend.finish();
  EXPECT_TRUE(box.commit.idle());
}

// Agents that may see it are told, by a name that nothing else keeps any longer.
TEST(CommitPipeline, TheLastRuleOfAnAgentThatHasGoneEnds) {
  PipelineFixture::Options options;
  policy::AgentPolicy watcher;
  watcher.name = "watcher";
  watcher.may_see = {"an agent with a name that is not short"};
  options.directory = {};
  options.directory.add(watcher);
  PipelineFixture box(std::move(options));
  auto& seer = box.agent(watcher.name);
  auto& gone = box.agent(watcher.may_see[0]);
  auto request = pinhole();
  request.lifetime = {1};
  ASSERT_EQ(refusal(box.ask(gone, request)), std::nullopt);
  box.engine.release(gone.agent());
  seer.events.clear();
  box.advance(2s);
  ASSERT_EQ(seer.events.size(), 1U);
  EXPECT_EQ(seer.events[0].lifetime, Lifetime{0});
  EXPECT_EQ(box.engine.agent_count(), 1U);
}

TEST(CommitPipeline, AnExpiredRuleThatCannotBeRemovedIsTriedAgain) {
  Slow box;
  auto& agent = box.agent("a");
  const PolicyRuleId pid = box.enable(agent, pinhole(1, 60));
  box.advance(61s);
  ASSERT_TRUE(box.backend.busy());
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_EQ(box.expiry_failures, std::vector{pid});
  EXPECT_EQ(box.engine.rule_count(), 1U);
  EXPECT_TRUE(agent.events.empty());
  // Its lifetime is over all the same: nothing gives it another.
  const auto status = box.submit(agent, PrsRequest{pid});
  EXPECT_EQ(refusal(agent.replies.at(status)), kNoSuchRule);
  const auto extension = box.submit(agent, PlcRequest{pid, {60}});
  EXPECT_EQ(refusal(agent.replies.at(extension)), kNoSuchRule);
  box.advance(2s);
  ASSERT_TRUE(box.backend.busy());
  EXPECT_EQ(box.backend.batches.back()[0].before.expires_at,
            box.backend.batches[0][0].after.expires_at);
  box.backend.finish();
  EXPECT_EQ(box.engine.rule_count(), 0U);
  EXPECT_EQ(agent.events.size(), 1U);
}

TEST(CommitPipeline, ARuleIsNotEndedTwiceWhileItsEndIsUnderWay) {
  Slow box;
  auto& agent = box.agent("a");
  const PolicyRuleId pid = box.enable(agent, pinhole(1, 60));
  box.submit(agent, PlcRequest{pid, {0}});
  box.commit.dispatch();
  box.advance(100s);  // its lifetime ends meanwhile
  box.backend.finish();
  EXPECT_EQ(box.backend.batches.size(), 2U);
  EXPECT_EQ(box.engine.rule_count(), 0U);
}

}  // namespace
}  // namespace simco::middlebox
