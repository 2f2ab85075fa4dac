#include "middlebox/commit/pipeline.hpp"

#include <gtest/gtest.h>

#include "tests/support/middlebox_core.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;
using rule::ChangeResult;
using enum NegativeReplyCode;
using test::MiddleboxCore;
using test::pinhole;
using test::refusal;

struct Slow : MiddleboxCore {
  explicit Slow(std::uint32_t rules_max = 1000) : MiddleboxCore(rules_max) {
    backend.automatic = false;
  }
};

TEST(CommitPipeline, RepliesOnlyWhenTheBackendHasSpoken) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole());
  EXPECT_FALSE(box.backend.busy());
  box.commit.dispatch();
  EXPECT_TRUE(box.backend.busy());
  EXPECT_TRUE(agent.replies.empty());
  box.backend.finish();
  EXPECT_EQ(agent.replies.size(), 1U);
  EXPECT_TRUE(box.commit.idle());
}

TEST(CommitPipeline, WhatGathersMeanwhileIsTheNextBatch) {
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

TEST(CommitPipeline, BatchesAreBounded) {
  MiddleboxCore box(10'000);
  auto& agent = box.agent("a");
  for (std::uint16_t port = 1; port <= 3000; ++port) box.submit(agent, pinhole(port));
  box.commit.dispatch();
  ASSERT_GE(box.backend.batches.size(), 3U);
  for (const auto& batch : box.backend.batches) EXPECT_LE(batch.size(), 1024U);
  EXPECT_EQ(agent.replies.size(), 3000U);
}

PerRequest wide(std::uint16_t port) {
  auto request = pinhole(port);
  request.internal.port_range = request.external.port_range = 1000;
  return request;
}

// What one agent has asked for may take the kernel seconds: another waits for its share of a batch.
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

bool adds(const rule::RuleChange& change, std::uint16_t lowest_port) {
  return change.kind == rule::RuleChange::Kind::kAdd &&
         change.after.kind == rule::RuleKind::kEnable && change.after.internal.port >= lowest_port;
}

// It waits for its share of a batch and not for what others have asked for; of that, what it blocks
// is refused without having been open for a moment.
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

// Nor do the rules that it ends wait for what their owner has asked for.
TEST(CommitPipeline, TheRulesThatADisableRuleEndsWaitForNobodyElsesChanges) {
  Slow box;
  auto& greedy = box.agent("greedy");
  auto& other = box.agent("other");
  box.submit(greedy, pinhole(1));
  box.commit.dispatch();
  box.backend.finish();
  for (std::uint16_t i = 0; i < 20; ++i) box.submit(greedy, wide(1000 + i));
  PdrRequest block;
  block.internal = pinhole(1).internal;
  block.external = pinhole(1).external;
  block.lifetime = {60};
  const auto disable = box.submit(other, block);
  box.commit.dispatch();
  while (!other.replies.contains(disable)) {
    ASSERT_TRUE(box.backend.busy());
    box.backend.finish();
  }
  EXPECT_LT(greedy.replies.size(), 21U);
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

// The order of requests is that of a session: what others have under way keeps nobody waiting.
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
  box.submit(agent, pinhole());
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].after.pid;
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
TEST(CommitPipeline, ManyRequestsAboutOneRuleCostNoMoreThanTheirNumber) {
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

TEST(CommitPipeline, AStatusRequestFindsTheRuleAsTheRequestBeforeItLeftIt) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1, 60));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].after.pid;
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

// RFC 5189 2.1.4: on one session, what comes later is decided as if it had been sent later.
TEST(CommitPipeline, ARefusalWaitsForTheChangesThatCameBefore) {
  for (const bool ends : {true, false}) {
    Slow box{1};
    auto& agent = box.agent("a");
    box.submit(agent, pinhole(1));
    box.commit.dispatch();
    const PolicyRuleId pid = box.backend.batches[0][0].after.pid;
    box.backend.finish();
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
  box.submit(busy, pinhole(1));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].after.pid;
  box.backend.finish();
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
  EXPECT_EQ(refusal(agent.replies.at(joins)), kNoSuchGroup);
  EXPECT_TRUE(std::holds_alternative<PerReply>(agent.replies.at(full)));
  EXPECT_EQ(std::get<PrlReply>(agent.replies.at(list)).pids.size(), 2U);
  EXPECT_TRUE(box.commit.idle());
}

PdrRequest disabling(const PerRequest& request) {
  PdrRequest result;
  result.internal = request.internal;
  result.external = request.external;
  result.lifetime = {60};
  return result;
}

// Another disable rule is ending it already, and it is open as yet.
TEST(CommitPipeline, ASecondDisableRuleWaitsForTheSameRulesToEnd) {
  Slow box;
  auto& agent = box.agent("a");
  auto& other = box.agent("b");
  box.submit(agent, pinhole(1));
  box.commit.dispatch();
  box.backend.finish();
  const auto first = box.submit(agent, disabling(pinhole(1)));
  const auto second = box.submit(other, disabling(pinhole(1)));
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
  const auto enable = box.submit(agent, pinhole(1));
  box.commit.dispatch();
  box.backend.finish();
  const auto pid = std::get<PerReply>(agent.replies[enable]).pid;
  box.submit(agent, disabling(pinhole(1)));
  box.commit.dispatch();
  box.backend.finish();
  box.backend.finish({ChangeResult::kRefused});
  ASSERT_EQ(box.engine.rule_count(), 2U);
  EXPECT_EQ(refusal(box.ask(agent, PlcRequest{pid, {60}})), kNoSuchRule);
  box.advance(2s);
  box.backend.finish();
  EXPECT_EQ(box.engine.rule_count(), 1U);
}

// Whoever may see it is told, by a name that nothing else keeps any longer.
TEST(CommitPipeline, TheLastRuleOfAnAgentThatHasGoneEnds) {
  MiddleboxCore::Options options;
  policy::AgentPolicy watcher;
  watcher.name = "watcher";
  watcher.may_see = {"an agent with a name that is not short"};
  options.directory = {};
  options.directory.add(watcher);
  MiddleboxCore box(std::move(options));
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

// The middlebox was killed between the disable rule and the end of what it hits.
TEST(CommitPipeline, ADisableRuleFromBeforeARestartEndsWhatItHits) {
  MiddleboxCore box;
  box.agent("a");
  rule::RuleRecord record;
  record.pid = {7};
  record.group = {1};
  record.owner_name = "a";
  record.internal = pinhole(1).internal;
  record.external = pinhole(1).external;
  record.expires_at = box.now() + 60s;
  policy::Plan plan;
  ASSERT_EQ(box.engine.recover(record, {60}, plan), std::nullopt);
  box.engine.settle(plan.slot, plan.change, ChangeResult::kDone, box.now());
  record.pid = {8};
  record.group = {};
  record.kind = rule::RuleKind::kDisable;
  ASSERT_EQ(box.engine.recover(record, {60}, plan), std::nullopt);
  box.engine.settle(plan.slot, plan.change, ChangeResult::kDone, box.now());
  EXPECT_EQ(box.engine.rule_count(), 2U);
  box.advance(1s);
  EXPECT_EQ(box.engine.rule_count(), 1U);
}

TEST(CommitPipeline, ARemovalThatFailsLeavesTheRuleAsItWas) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1, 60));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].after.pid;
  box.backend.finish();
  const auto end = box.submit(agent, PlcRequest{pid, {0}});
  box.commit.dispatch();
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_EQ(refusal(agent.replies.at(end)), kConfigurationFailed);
  const auto status = box.submit(agent, PrsRequest{pid});
  EXPECT_EQ(std::get<PesReply>(agent.replies.at(status)).lifetime, Lifetime{60});
}

TEST(CommitPipeline, AnExpiredRuleThatCannotBeRemovedIsTriedAgain) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1, 60));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].after.pid;
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

TEST(CommitPipeline, ARuleIsNotEndedTwiceWhileItsEndIsUnderWay) {
  Slow box;
  auto& agent = box.agent("a");
  box.submit(agent, pinhole(1, 60));
  box.commit.dispatch();
  const PolicyRuleId pid = box.backend.batches[0][0].after.pid;
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
