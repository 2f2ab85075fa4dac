// Disable rules, and the enable rules that they end.
#include <gtest/gtest.h>

#include "tests/unit/policy/requests.hpp"

namespace simco::policy {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using rule::ChangeResult;
using rule::RuleChange;
using test::pinhole;
using test::PipelineFixture;
using test::refusal;

TEST(Disable, EndsWhatItHitsAndHoldsOffWhatWouldBeHit) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  auto& guard = box.agent("guard");
  const auto hit = std::get<PerReply>(box.ask(agent, pinhole())).pid;
  auto elsewhere = pinhole(5010);
  elsewhere.external.address[3] = std::byte{8};
  const auto spared = std::get<PerReply>(box.ask(agent, elsewhere)).pid;
  const auto reserved = std::get<PrrReply>(box.ask(agent, reservation())).pid;
  agent.events.clear();
  guard.events.clear();
  const auto pdr = std::get<PdrReply>(box.ask(guard, block()));
  EXPECT_TRUE(guard.events.empty());  // it may not see the rule
  ASSERT_EQ(agent.events.size(), 1U);
  EXPECT_EQ(agent.events[0].pid, hit);
  EXPECT_EQ(agent.events[0].lifetime, Lifetime{0});
  EXPECT_EQ(refusal(box.ask(agent, PrsRequest{hit})), kNoSuchRule);
  EXPECT_TRUE(is<PesReply>(box.ask(agent, PrsRequest{spared})));
  EXPECT_EQ(refusal(box.ask(agent, pinhole())), kConflict);
  EXPECT_EQ(refusal(box.ask(agent, after(reserved))), kConflict);
  box.ask(guard, PlcRequest{pdr.pid, {0}});
  EXPECT_TRUE(is<PerReply>(box.ask(agent, after(reserved))));
}

TEST(Disable, AgainstNatRulesByTheirInternalAndExternalTuples) {
  PipelineFixture box(nat(Mode::kTwiceNat));
  auto& agent = box.agent("a");
  const auto per = std::get<PerReply>(box.ask(agent, pinhole()));
  // The NAT's tuple stands for no host: it can be blocked without harm to the rule.
  auto request = block();
  request.external = per.outside;
  request.external.location = Location::kExternal;
  EXPECT_TRUE(is<PdrReply>(box.ask(agent, request)));
  EXPECT_TRUE(is<PesReply>(box.ask(agent, PrsRequest{per.pid})));
  EXPECT_TRUE(is<PdrReply>(box.ask(agent, block())));  // wildcards, although a NAT grants none
  EXPECT_EQ(refusal(box.ask(agent, PrsRequest{per.pid})), kNoSuchRule);
  // Its ports are free again.
  box.advance(61s);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(is<PerReply>(box.ask(agent, pinhole())));
}

TEST(Disable, ARefusedOneChangesNothing) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  const auto pid = std::get<PerReply>(box.ask(agent, pinhole())).pid;
  box.backend.automatic = false;
  const auto tid = box.submit(agent, block());
  // From the moment it is planned, nothing gets past it; whether that is a conflict it decides.
  const auto late = box.submit(agent, pinhole(5008));
  auto& other = box.agent("b");
  const auto others = box.submit(other, pinhole(5010));
  box.commit.dispatch();
  EXPECT_FALSE(agent.replies.contains(late) || other.replies.contains(others));
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_EQ(refusal(agent.replies[tid]), kConfigurationFailed);
  box.backend.finish();
  EXPECT_TRUE(is<PerReply>(agent.replies.at(late)));
  EXPECT_TRUE(is<PerReply>(other.replies.at(others)));
  box.backend.automatic = true;
  EXPECT_TRUE(is<PesReply>(box.ask(agent, PrsRequest{pid})));
}

// 5.3.19 and 8.9 except requesters of PRR, PER, PEA and PLC, and 8.8.2 excepts nobody: the reply
// names none of the rules that are gone.
TEST(Disable, WhoAsksHearsWhichRulesEnded) {
  PipelineFixture::Options options;
  options.directory = {};
  auto seeing = named("guard");
  seeing.may_see = {"*"};
  options.directory.add(seeing);
  options.directory.add(named("a"));
  PipelineFixture box(options);
  auto& agent = box.agent("a");
  auto& guard = box.agent("guard");
  const auto first = std::get<PerReply>(box.ask(agent, pinhole(5004))).pid;
  const auto own = std::get<PerReply>(box.ask(guard, pinhole(5006))).pid;
  guard.events.clear();
  box.backend.automatic = false;
  const auto tid = box.submit(guard, block());
  box.commit.dispatch();
  box.backend.finish();
  EXPECT_TRUE(guard.events.empty());
  box.backend.finish();
  ASSERT_EQ(guard.events.size(), 2U);
  EXPECT_EQ(guard.events[0].pid, first);
  EXPECT_EQ(guard.events[1].pid, own);
  for (const auto& event : guard.events) EXPECT_EQ(event.lifetime, Lifetime{0});
  EXPECT_TRUE(is<PdrReply>(guard.replies.at(tid)));
}

// In steps: no request of one agent may keep the others waiting for all that it ends.
TEST(Disable, ManyRulesEndInBoundedSteps) {
  constexpr std::uint16_t kRules = 9950;
  constexpr std::uint32_t kLooks = 100;
  PipelineFixture box(kRules + 1);
  auto& agent = box.agent("a");
  for (std::uint16_t port = 1; port <= kRules; ++port) box.ask(agent, pinhole(port));
  const policy::RequestContext context{agent.agent(), {1'000'000}};
  Plan plan = box.engine.plan(context, block(), box.now());
  const auto pid = plan.change.after.pid;
  const auto settle = [&] {
    return box.engine.settle(plan.slot, plan.change, ChangeResult::kDone, box.now());
  };
  EXPECT_TRUE(settle().disabling);
  std::vector<PolicyRuleId> completed;
  for (bool found_all = false; !found_all;) {
    const auto step = box.engine.end_disabled(pid, kLooks, box.now());
    EXPECT_LE(step.looked, std::max(kLooks, kDisableScanMax));
    EXPECT_FALSE(step.completed);
    found_all = step.found_all;
    // This is its effect, whatever it reports.
    std::uint32_t due = 0;
    for (; auto due_rule = box.engine.plan_expiry(box.now()); ++due) {
      plan = std::move(*due_rule);
      completed = settle().completed_disables;
    }
    EXPECT_EQ(due, step.ended);
    EXPECT_LE(due, kLooks);
    EXPECT_EQ(completed.empty(), !found_all);
  }
  EXPECT_EQ(completed, std::vector<PolicyRuleId>{pid});
  EXPECT_EQ(box.engine.rule_count(), 1U);
}

TEST(Disable, CountsRulesThatLeaveNothingOut) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  PdrRequest all{test::protocols_only(Location::kInternal, 0),
                 test::protocols_only(Location::kExternal, 0),
                 {60}};
  const auto one = std::get<PdrReply>(box.ask(agent, all)).pid;
  const auto two = std::get<PdrReply>(box.ask(agent, all)).pid;
  box.ask(agent, PlcRequest{one, {0}});
  EXPECT_EQ(refusal(box.ask(agent, reservation())), kAddressSpaceNotAvailable);
  box.ask(agent, PlcRequest{two, {0}});
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation())));
}

// 8.8.2.
TEST(Disable, OtherSessionsAreToldOfADisableRule) {
  PipelineFixture box;
  auto& one = box.agent("a");
  auto& two = box.agent("a");
  auto& stranger = box.agent("b");
  const auto pdr = std::get<PdrReply>(box.ask(one, block()));
  EXPECT_TRUE(one.events.empty());
  EXPECT_TRUE(stranger.events.empty());
  ASSERT_EQ(two.events.size(), 1U);
  EXPECT_EQ(two.events[0].pid, pdr.pid);
  EXPECT_EQ(two.events[0].lifetime, pdr.lifetime);
}

}  // namespace
}  // namespace simco::policy
