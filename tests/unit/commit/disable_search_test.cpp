// Disable rules that hit many rules: they look for them in steps, in turn, and no faster than their
// agent reads.
#include <gtest/gtest.h>

#include "tests/unit/commit/slow_pipeline.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using test::pinhole;
using test::refusal;

constexpr std::uint16_t kMany = 20'000;

/// Blocks the traffic of all rules of `many_rules`.
PdrRequest blocking_many() {
  return {test::protocols_only(Location::kInternal, kProtocolUdp), pinhole().external, {60}};
}

/// A middlebox where the agent "owner" has many rules.
struct Busy : Slow {
  Busy() : Slow(kMany + 100) {
    auto& owner = agent("owner");
    backend.automatic = true;
    for (std::uint16_t port = 1; port <= kMany; ++port) {
      last = std::get<PerReply>(ask(owner, pinhole(port))).pid;
    }
    backend.automatic = false;
  }
  /// The loop's work when nothing new comes in.
  void run_once() {
    if (backend.busy()) return backend.finish();
    if (pipeline.next_expiry() && *pipeline.next_expiry() <= now()) commit.expire();
    commit.dispatch();
  }
  bool has_work() const {
    return backend.busy() || (pipeline.next_expiry() && *pipeline.next_expiry() <= now());
  }
  void run() {
    while (has_work()) run_once();
  }

  PolicyRuleId last;
};

TEST(DisableSearch, EndsAllAndDoesABoundedAmountOfWorkAtATime) {
  Busy box;
  auto& guard = box.agent("guard");
  auto& other = box.agent("other");
  const auto pdr = box.submit(guard, blocking_many());
  box.commit.dispatch();
  auto elsewhere = pinhole(1);
  elsewhere.external.address[3] = std::byte{99};
  std::uint32_t answered = 0;
  for (auto count = box.engine.rule_count(); box.has_work(); count = box.engine.rule_count()) {
    const auto per = box.submit(other, elsewhere);
    elsewhere.internal.port += 1;
    box.run_once();
    if (guard.replies.contains(pdr)) break;
    EXPECT_GE(box.engine.rule_count() + kBatchMax, count);
    box.run_once();
    answered += other.replies.contains(per);
  }
  EXPECT_GT(answered, 10U) << "others have their turn meanwhile";
  EXPECT_TRUE(std::holds_alternative<PdrReply>(guard.replies.at(pdr)));
  box.run();
  EXPECT_TRUE(box.commit.idle());
}

// They are blocked, and will have ended when the PDR is answered.
TEST(DisableSearch, WhatWillEndIsNotThereForRequestsAboutIt) {
  Busy box;
  auto& guard = box.agent("guard");
  auto& owner = box.agent("owner");
  guard.full = true;
  box.submit(guard, blocking_many());
  box.commit.dispatch();
  box.run();
  ASSERT_EQ(box.engine.rule_count(), kMany + 1U);
  EXPECT_EQ(refusal(box.ask(owner, PrsRequest{box.last})), kNoSuchRule);
  EXPECT_EQ(refusal(box.ask(owner, PlcRequest{box.last, {60}})), kNoSuchRule);
  EXPECT_EQ(refusal(box.ask(owner, pinhole(1))), kConflict);
}

// 8.8.2: the agent hears of each rule that ends. It must be able to read that.
TEST(DisableSearch, WaitsForAnAgentThatReadsSlowly) {
  Busy box;
  auto& reader = box.agent("owner");
  const auto pdr = box.submit(reader, blocking_many());
  box.commit.dispatch();
  std::size_t unread = 0;
  while (!reader.replies.contains(pdr)) {
    unread += reader.events.size();
    reader.events.clear();
    EXPECT_LE(unread, 100U + kDisableEndsMax + policy::kDisableScanMax);
    reader.full = unread > 100;
    if (!box.has_work()) {
      ASSERT_TRUE(reader.full);
      reader.full = false;  // it has read everything
      unread = 0;
    }
    box.run_once();
  }
  EXPECT_EQ(box.engine.rule_count(), 1U);
}

TEST(DisableSearch, WaitsForItsAgentOnlyAsLongAsItBlocksTheTraffic) {
  Busy box;
  auto& guard = box.agent("guard");
  guard.full = true;
  const auto pdr = box.submit(guard, blocking_many());
  box.commit.dispatch();
  box.run();
  EXPECT_FALSE(guard.replies.contains(pdr));
  box.backend.automatic = true;
  box.advance(60s);
  EXPECT_TRUE(guard.replies.contains(pdr));
  EXPECT_EQ(box.engine.rule_count(), 0U);
}

TEST(DisableSearch, DoesNotWaitForItsAgentWhileOthersWaitForIt) {
  Busy box;
  auto& guard = box.agent("guard");
  auto& second = box.agent("guard");
  guard.full = true;
  const auto pdr = box.submit(guard, blocking_many());
  box.commit.dispatch();
  box.run();
  const PolicyRuleId pid{box.last.value + 1};
  const auto end = box.submit(second, PlcRequest{pid, {0}});
  box.run();
  EXPECT_TRUE(std::holds_alternative<PdrReply>(guard.replies.at(pdr)));
  EXPECT_TRUE(std::holds_alternative<PrdReply>(second.replies.at(end)));
  EXPECT_EQ(box.engine.rule_count(), 0U);
}

// Each finds rules that the other is ending.
TEST(DisableSearch, TwoOverTheSameRulesAreBothAnswered) {
  Busy box;
  auto& guard = box.agent("guard");
  auto& other = box.agent("other");
  const auto first = box.submit(guard, blocking_many());
  const auto second = box.submit(other, blocking_many());
  const auto third = box.submit(guard, disabling_one(kMany));
  box.commit.dispatch();
  std::size_t at_third = 0;
  while (box.has_work()) {
    box.run_once();
    if (at_third == 0 && guard.replies.contains(third)) at_third = box.engine.rule_count();
  }
  EXPECT_TRUE(std::holds_alternative<PdrReply>(guard.replies.at(first)));
  EXPECT_TRUE(std::holds_alternative<PdrReply>(other.replies.at(second)));
  EXPECT_GE(at_third, 3U);
  EXPECT_EQ(box.engine.rule_count(), 3U);
  EXPECT_TRUE(box.commit.idle());
}

// The one that hits few rules is not behind all that another one hits.
TEST(DisableSearch, SmallOnesDoNotWaitForLargeOnes) {
  Busy box;
  auto& guard = box.agent("guard");
  auto& other = box.agent("other");
  const auto large = box.submit(guard, blocking_many());
  box.commit.dispatch();
  box.run_once();
  const auto small = box.submit(other, disabling_one(kMany));
  while (!other.replies.contains(small)) box.run_once();
  EXPECT_FALSE(guard.replies.contains(large));
  EXPECT_GT(box.engine.rule_count(), kMany / 2U);
}

}  // namespace
}  // namespace simco::middlebox
