// Keeping rules: when they are renewed, and how they are found again after a reconnection.
#include "simco/session/rule_keeper.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "simco/session/backoff.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;

const PolicyRuleId kOne{1};
const PolicyRuleId kTwo{2};

KeptRule kept(PolicyRuleId pid) {
  const auto request = PerRequest::udp("10.0.0.5:5004", "192.0.2.7:6000", 60s);
  const KeptRule::Terms terms{request.internal, request.external, request.parameters.direction};
  return {pid, terms, request.internal, request.lifetime};
}

class Keeper : public testing::Test {
 protected:
  void keep(PolicyRuleId pid, std::uint32_t lifetime_s = 60) {
    keeper.keep(kept(pid), {lifetime_s}, now);
  }
  /// The requests that are due: "PLC 1", "PRS 1", "PRL".
  std::vector<std::string> due() {
    std::vector<std::string> result;
    while (const auto request = keeper.next_request(now)) {
      result.push_back(std::string(name_of(type_of(request->body))).substr(0, 3));
      if (request->pid) result.back() += " " + std::to_string(request->pid->value);
    }
    return result;
  }
  void reply(PolicyRuleId pid, const Body& body) { keeper.on_end(pid, &body, now); }
  PesReply status(PolicyRuleId pid, std::uint32_t lifetime_s) {
    const auto rule = kept(pid);
    return {pid,
            {},
            {PortParity::kAny, rule.enabled->direction},
            rule.enabled->internal,
            rule.enabled->internal,
            rule.outside,
            rule.enabled->external,
            Lifetime{lifetime_s},
            {}};
  }
  void reconnect() {
    keeper.on_session_end();
    keeper.on_session_open();
  }
  std::vector<RuleKeeper::Loss> losses() {
    std::vector<RuleKeeper::Loss> result;
    while (const auto loss = keeper.take_loss()) result.push_back(*loss);
    return result;
  }
  using Words = std::vector<std::string>;
  using Losses = std::vector<RuleKeeper::Loss>;

  RuleKeeper keeper;
  Instant now{1h};
};

TEST_F(Keeper, RenewsInTheMiddleOfEachLifetime) {
  keep(kOne);
  EXPECT_EQ(due(), Words());
  EXPECT_EQ(keeper.next_deadline(), now + 30s);
  now += 30s;
  EXPECT_EQ(due(), Words{"PLC 1"});
  EXPECT_EQ(due(), Words());
  now += 1s;
  reply(kOne, PlcReply{{40}});  // less than wanted
  EXPECT_EQ(keeper.next_deadline(), now + 20s);
  EXPECT_EQ(losses(), Losses());
}

TEST_F(Keeper, ARefusedRenewalIsRepeatedUntilTheLifetimeIsOver) {
  keep(kOne);
  now += 30s;
  EXPECT_EQ(due(), Words{"PLC 1"});
  reply(kOne, NegativeReply{NegativeReplyCode::kNoResources, {}});
  EXPECT_EQ(keeper.next_deadline(), now + 15s);
  now += 29s;
  EXPECT_EQ(due(), Words{"PLC 1"});
  reply(kOne, NegativeReply{NegativeReplyCode::kNoResources, {}});
  EXPECT_EQ(keeper.next_deadline(), now + 1s);
  now += 1s;
  EXPECT_EQ(due(), Words());
  EXPECT_EQ(losses(), (Losses{{kOne, RuleLoss::kExpired}}));
  EXPECT_EQ(keeper.find(kOne), nullptr);
  EXPECT_EQ(keeper.next_deadline(), std::nullopt);
}

TEST_F(Keeper, ARenewalWithoutAReplyEndsWithTheLifetime) {
  keep(kOne);
  now += 30s;
  EXPECT_EQ(due(), Words{"PLC 1"});
  EXPECT_EQ(keeper.next_deadline(), now + 30s);
  now += 30s;
  EXPECT_EQ(due(), Words());
  EXPECT_EQ(losses(), (Losses{{kOne, RuleLoss::kExpired}}));
  keeper.on_end(kOne, nullptr, now);  // late, and about nothing
}

TEST_F(Keeper, HearsOfTheEndAndOfNewLifetimes) {
  keep(kOne);
  keep(kTwo);
  keeper.on_rule_event(kOne, Lifetime{0}, now);
  EXPECT_EQ(losses(), (Losses{{kOne, RuleLoss::kEnded}}));
  keeper.on_rule_event(kTwo, Lifetime{10}, now);
  EXPECT_EQ(keeper.next_deadline(), now + 5s);
  keeper.on_rule_event(PolicyRuleId{9}, Lifetime{0}, now);  // somebody's
  now += 5s;
  EXPECT_EQ(due(), Words{"PLC 2"});
  reply(kTwo, NegativeReply{NegativeReplyCode::kNoSuchRule, {}});
  EXPECT_EQ(losses(), (Losses{{kTwo, RuleLoss::kEnded}}));
}

TEST_F(Keeper, WhatIsForgottenIsNotRenewed) {
  keep(kOne);
  keeper.forget(kOne);
  keeper.forget(kTwo);
  EXPECT_EQ(keeper.next_deadline(), std::nullopt);
  now += 30s;
  EXPECT_EQ(due(), Words());
}

TEST_F(Keeper, FindsItsRulesAgainAndRenewsThem) {
  keep(kOne);
  keep(kTwo);
  keeper.on_session_end();
  now += 40s;
  EXPECT_EQ(due(), Words());  // nothing can be sent
  EXPECT_EQ(keeper.next_deadline(), now + 20s);
  keeper.on_session_open();
  EXPECT_EQ(due(), Words{"PRL"});
  const Body list = PrlReply{{kOne, PolicyRuleId{7}}};
  keeper.on_end(std::nullopt, &list, now);
  EXPECT_EQ(losses(), (Losses{{kTwo, RuleLoss::kEnded}}));
  EXPECT_EQ(due(), Words{"PRS 1"});
  reply(kOne, status(kOne, 19));
  EXPECT_EQ(due(), Words{"PLC 1"});
  reply(kOne, PlcReply{{60}});
  EXPECT_EQ(keeper.next_deadline(), now + 30s);
  EXPECT_EQ(losses(), Losses());
}

TEST_F(Keeper, APidThatMeansAnotherRuleIsALoss) {
  keep(kOne);
  keep(kTwo);
  reconnect();
  EXPECT_EQ(due(), Words{"PRL"});
  const Body refused = NegativeReply{NegativeReplyCode::kReplyTooBig, {}};
  keeper.on_end(std::nullopt, &refused, now);  // then each is asked for
  EXPECT_EQ(due(), (Words{"PRS 1", "PRS 2"}));
  auto other = status(kOne, 50);
  other.internal.port = 5006;
  reply(kOne, other);
  reply(kTwo, NegativeReply{NegativeReplyCode::kRuleAccessDenied, {}});
  EXPECT_EQ(losses(), (Losses{{kOne, RuleLoss::kNotOurs}, {kTwo, RuleLoss::kNotOurs}}));
}

TEST_F(Keeper, RulesOfTheNewSessionNeedNotBeFound) {
  keep(kOne);
  reconnect();
  EXPECT_EQ(due(), Words{"PRL"});
  keep(kTwo);  // made after the list
  const Body list = PrlReply{{kOne}};
  keeper.on_end(std::nullopt, &list, now);
  EXPECT_EQ(losses(), Losses());
  EXPECT_EQ(due(), Words{"PRS 1"});
}

TEST_F(Keeper, ASessionThatEndsDuringTheSearchBeginsItAgain) {
  keep(kOne);
  reconnect();
  EXPECT_EQ(due(), Words{"PRL"});
  keeper.on_session_end();
  keeper.on_end(std::nullopt, nullptr, now);
  keeper.on_session_open();
  EXPECT_EQ(due(), Words{"PRL"});
  const Body list = PrlReply{{kOne}};
  keeper.on_end(std::nullopt, &list, now);
  EXPECT_EQ(due(), Words{"PRS 1"});
  keeper.on_session_end();
  keeper.on_end(kOne, nullptr, now);
  now += 60s;
  EXPECT_EQ(due(), Words());
  EXPECT_EQ(losses(), (Losses{{kOne, RuleLoss::kExpired}}));
}

TEST(Backoff, DoublesUpToTheLongestAndBeginsAnew) {
  Backoff backoff(100ms, 250ms);
  EXPECT_EQ(backoff.next(0), 50ms);
  EXPECT_EQ(backoff.next(0.5), 150ms);
  EXPECT_EQ(backoff.next(0), 125ms);
  EXPECT_EQ(backoff.next(0.5), 187500us);
  backoff.reset();
  EXPECT_EQ(backoff.next(0), 50ms);
}

}  // namespace
}  // namespace simco
