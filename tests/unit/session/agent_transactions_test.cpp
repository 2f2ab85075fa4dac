#include "simco/session/agent_transactions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace simco {
namespace {

using namespace std::chrono_literals;

const Instant kBegin{};

struct End {
  TransactionEnd how;
  bool has_reply;
  friend bool operator==(const End&, const End&) = default;
};

const End kReplied{TransactionEnd::kReplied, true};
const End kWrongReply{TransactionEnd::kWrongReply, false};
const End kTimedOut{TransactionEnd::kTimedOut, false};
const End kSessionEnded{TransactionEnd::kSessionEnded, false};

class Transactions : public testing::Test {
 protected:
  void start(std::uint32_t tid, std::chrono::seconds deadline, const Body& request = PrlRequest{},
             std::optional<PolicyRuleId> rule = std::nullopt) {
    transactions.start(
        TransactionId{tid}, request, rule, kBegin + deadline,
        [this](TransactionEnd how, const Body* reply) { ends.push_back({how, reply != nullptr}); });
  }
  void start_enabling(std::uint32_t tid, std::uint32_t reservation) {
    const PolicyRuleId pid{reservation};
    start(tid, 60s, PeaRequest{{}, {}, {}, {}, pid}, pid);
  }
  void start_ending(std::uint32_t tid, std::uint32_t rule) {
    const PolicyRuleId pid{rule};
    start(tid, 60s, PlcRequest{pid, Lifetime{0}}, pid);
  }
  void made(std::uint32_t tid, std::uint32_t pid) {
    start(tid, 60s, PerRequest{});
    transactions.on_reply(TransactionId{tid}, PerReply{PolicyRuleId{pid}, {}, {60}, {}, {}});
  }
  std::optional<std::uint32_t> stream(std::uint32_t pid) const {
    const auto tid = transactions.stream_of(PolicyRuleId{pid});
    return tid ? std::optional(tid->value) : std::nullopt;
  }

  AgentTransactions transactions{4};
  std::vector<End> ends;
};

TEST_F(Transactions, AReplyEndsOneAndAStrangersNone) {
  start(1, 60s);
  start(2, 60s);
  transactions.on_reply(TransactionId{7}, PrlReply{});
  EXPECT_TRUE(ends.empty());
  transactions.on_reply(TransactionId{2}, PrlReply{});
  transactions.on_reply(TransactionId{2}, PrlReply{});
  EXPECT_EQ(ends, std::vector{kReplied});
  EXPECT_EQ(transactions.pending(), 1U);
}

TEST_F(Transactions, TimeOutsComeInTheirOrderAndNotBeforeTheirTime) {
  start(1, 1s);
  start(2, 2s);
  start(3, 3s);
  transactions.on_reply(TransactionId{2}, PrlReply{});
  EXPECT_EQ(transactions.next_deadline(), kBegin + 1s);
  transactions.on_deadline(kBegin + 1s - 1ns);
  EXPECT_EQ(ends, std::vector{kReplied});
  transactions.on_deadline(kBegin + 1s);
  EXPECT_EQ(ends, (std::vector{kReplied, kTimedOut}));
  EXPECT_EQ(transactions.next_deadline(), kBegin + 3s);  // 2 is answered
  transactions.on_deadline(kBegin + 3s);
  EXPECT_EQ(ends, (std::vector{kReplied, kTimedOut, kTimedOut}));
  EXPECT_EQ(transactions.next_deadline(), std::nullopt);
  transactions.on_reply(TransactionId{1}, PrlReply{});  // late
  EXPECT_EQ(ends.size(), 3U);
}

TEST_F(Transactions, OnlyAReplyOfItsOwnAnswersARequest) {
  const Body rule = PerReply{PolicyRuleId{10}, {}, {60}, {}, {}};
  const struct {
    Body request;
    std::vector<Body> answers;
  } cases[] = {
      {PrrRequest{}, {PrrReply{}}},
      {PerRequest{}, {rule}},
      {PeaRequest{}, {rule}},
      {PdrRequest{}, {PdrReply{}}},
      {PlcRequest{{}, Lifetime{60}}, {PlcReply{}, PrdReply{}}},
      {PlcRequest{{}, Lifetime{0}}, {PrdReply{}}},
      {PrsRequest{}, {PrsReply{}, PesReply{}, PdsReply{}}},
      {PrlRequest{}, {PrlReply{}}},
  };
  const Body replies[] = {SeReply{},  StReply{},  PrrReply{}, rule,       PlcReply{}, PrdReply{},
                          PrsReply{}, PesReply{}, PdsReply{}, PrlReply{}, PdrReply{}};
  std::uint32_t tid = 0;
  for (const auto& [request, answers] : cases) {
    for (const auto& reply : replies) {
      start(++tid, 60s, request);
      transactions.on_reply(TransactionId{tid}, reply);
      const bool right = std::ranges::find(answers, reply) != answers.end();
      EXPECT_EQ(ends.back(), right ? kReplied : kWrongReply)
          << name_of(type_of(request)) << ": " << name_of(type_of(reply));
    }
    start(++tid, 60s, request);
    transactions.on_reply(TransactionId{tid}, NegativeReply{});
    EXPECT_EQ(ends.back(), kReplied);
  }
  EXPECT_EQ(transactions.pending(), 0U);
}

TEST_F(Transactions, AReplyToAnotherRequestMakesAndEndsNoRule) {
  made(1, 10);
  start(2, 60s, PrsRequest{PolicyRuleId{10}}, PolicyRuleId{10});
  transactions.on_reply(TransactionId{2}, PrdReply{});
  EXPECT_EQ(stream(10), 1U);
  start(3, 60s);
  transactions.on_reply(TransactionId{3}, PrrReply{PolicyRuleId{11}, {}, {60}, {}, {}});
  EXPECT_EQ(stream(11), std::nullopt);
}

TEST_F(Transactions, ACompletionMayStartAnother) {
  transactions.start(TransactionId{1}, PrlRequest{}, std::nullopt, kBegin + 1s,
                     [this](TransactionEnd, const Body*) { start(2, 5s); });
  transactions.on_deadline(kBegin + 1s);
  EXPECT_EQ(transactions.pending(), 1U);
  EXPECT_EQ(transactions.next_deadline(), kBegin + 5s);
}

TEST_F(Transactions, TheEndOfTheSessionEndsAllAndForgetsStreams) {
  made(1, 10);
  start(2, 60s);
  start(3, 60s);
  transactions.end();
  EXPECT_EQ(ends, (std::vector{kReplied, kSessionEnded, kSessionEnded}));
  EXPECT_EQ(stream(10), std::nullopt);
  EXPECT_EQ(transactions.next_deadline(), std::nullopt);
}

TEST_F(Transactions, MessagesAboutARuleFollowTheRequestThatMadeIt) {
  made(5, 10);
  EXPECT_EQ(stream(10), 5U);
  EXPECT_EQ(stream(11), std::nullopt);
  EXPECT_EQ(transactions.stream_of(std::nullopt), std::nullopt);
}

TEST_F(Transactions, EnablingAReservationKeepsItsStream) {
  start(5, 60s, PrrRequest{});
  transactions.on_reply(TransactionId{5}, PrrReply{PolicyRuleId{10}, {}, {60}, {}, {}});
  start_enabling(9, 10);
  transactions.on_reply(TransactionId{9}, PerReply{PolicyRuleId{10}, {}, {60}, {}, {}});
  EXPECT_EQ(stream(10), 5U);
  // A reservation of an earlier session: from now on its PEA counts.
  start_enabling(13, 20);
  transactions.on_reply(TransactionId{13}, PerReply{PolicyRuleId{20}, {}, {60}, {}, {}});
  EXPECT_EQ(stream(20), 13U);
}

TEST_F(Transactions, ARuleThatEndsIsForgotten) {
  made(1, 10);
  made(2, 11);
  made(3, 12);
  start_ending(4, 10);
  transactions.on_reply(TransactionId{4}, PrdReply{});
  start_ending(5, 11);
  transactions.on_reply(TransactionId{5}, NegativeReply{NegativeReplyCode::kNoSuchRule, {}});
  transactions.on_rule_event(PolicyRuleId{12}, Lifetime{0});
  for (const std::uint32_t pid : {10U, 11U, 12U}) EXPECT_EQ(stream(pid), std::nullopt) << pid;
}

TEST_F(Transactions, ARefusalForAnotherReasonKeepsTheStream) {
  made(1, 10);
  start_ending(2, 10);
  transactions.on_reply(TransactionId{2}, NegativeReply{NegativeReplyCode::kRuleAccessDenied, {}});
  EXPECT_EQ(stream(10), 1U);
}

TEST(OneStream, NothingIsKeptOfRules) {
  AgentTransactions transactions(1);
  transactions.start(TransactionId{1}, PerRequest{}, std::nullopt, kBegin,
                     [](TransactionEnd, const Body*) {});
  transactions.on_reply(TransactionId{1}, PerReply{PolicyRuleId{10}, {}, {60}, {}, {}});
  EXPECT_EQ(transactions.stream_of(PolicyRuleId{10}), std::nullopt);
}

TEST(RuleEvents, TheOldestGoAndAreCounted) {
  AgentTransactions transactions;
  EXPECT_EQ(transactions.take_event(), std::nullopt);
  for (std::uint32_t i = 0; i < kAgentEventsMax + 3; ++i) {
    transactions.on_rule_event(PolicyRuleId{i}, Lifetime{1});
  }
  const auto first = transactions.take_event();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pid.value, 3U);
  EXPECT_EQ(first->lost, 3U);
  EXPECT_EQ(transactions.take_event()->lost, 0U);
}

}  // namespace
}  // namespace simco
