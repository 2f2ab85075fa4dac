// An agent without I/O against a middlebox session without I/O: octets by hand, time by hand.
#include "agent/stream_agent.hpp"

#include <gtest/gtest.h>

#include "tests/support/octets.hpp"

namespace simco::agent {
namespace {

using namespace std::chrono_literals;
using boost::system::error_code;
using test::encoded;
using test::Octets;

const Instant kStart{};

struct Recorder final : StreamAgent::Observer {
  void on_open(const Capabilities& told) override { capabilities = told; }
  void on_event() override { ++events; }
  void on_end(const error_code& why) override {
    reason = why;
    ++ends;
  }
  std::optional<Capabilities> capabilities;
  int events = 0;
  int ends = 0;
  error_code reason;
};

class StreamAgentTest : public testing::Test {
 protected:
  void open(std::chrono::milliseconds timeout = 60s) {
    agent.emplace(recorder, StreamAgent::Options{.timeout = timeout}, kStart);
    take();
    answer(TransactionId{0}, SeReply{Capabilities{.lifetime_max_s = 3600}});
  }
  /// The output of the agent, as messages.
  std::vector<Message> take() {
    const auto output = agent->output();
    sent.assign(output.begin(), output.end());
    agent->consume(output.size());
    std::vector<Message> messages;
    net::FrameSplitter splitter(kMessageFramer);
    EXPECT_FALSE(splitter.feed(sent, [&](std::span<const std::byte> octets) {
      messages.push_back(*decode(octets));
      return true;
    }));
    return messages;
  }
  void answer(TransactionId tid, const Body& body) { agent->feed(encoded({tid, body})); }
  error_code list(Instant now = kStart) {
    return agent->request(PrlRequest{}, std::nullopt, now,
                          [this](TransactionEnd how, const Body* reply) {
                            results.push_back(error_of(how, reply, agent->end_reason()));
                          });
  }

  Recorder recorder;
  std::optional<StreamAgent> agent;
  std::vector<error_code> results;
  Octets sent;
};

TEST_F(StreamAgentTest, OpensASessionAndCarriesOutARequest) {
  agent.emplace(recorder, StreamAgent::Options{}, kStart);
  const auto first = take();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<SeRequest>(first[0].body));
  EXPECT_EQ(list(), error_code(AgentError::kNotOpen));
  answer(first[0].tid, SeReply{Capabilities{.lifetime_max_s = 3600}});
  ASSERT_TRUE(recorder.capabilities);
  EXPECT_EQ(recorder.capabilities->lifetime_max_s, 3600U);
  EXPECT_FALSE(list());
  const auto request = take();
  ASSERT_EQ(request.size(), 1U);
  answer(request[0].tid, PrlReply{{PolicyRuleId{7}}});
  EXPECT_EQ(results, std::vector{error_code{}});
}

TEST_F(StreamAgentTest, OctetsMayComeOneByOne) {
  open();
  EXPECT_FALSE(list());
  const auto reply = encoded({take()[0].tid, PrlReply{{PolicyRuleId{7}}}});
  for (const auto octet : reply) {
    EXPECT_TRUE(results.empty());
    agent->feed({&octet, 1});
  }
  EXPECT_EQ(results, std::vector{error_code{}});
}

TEST_F(StreamAgentTest, OutputMayLeaveInPieces) {
  open();
  Octets whole, pieces;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(list());
    while (agent->output().size() > 5) {
      const auto output = agent->output();
      pieces.insert(pieces.end(), output.begin(), output.begin() + 5);
      agent->consume(5);
    }
  }
  const auto rest = agent->output();
  pieces.insert(pieces.end(), rest.begin(), rest.end());
  for (std::uint32_t i = 1; i <= 100; ++i) {
    const auto message = encoded({TransactionId{i}, PrlRequest{}});
    whole.insert(whole.end(), message.begin(), message.end());
  }
  EXPECT_EQ(pieces, whole);
}

TEST_F(StreamAgentTest, DeadlinesOfOpeningAndOfTransactions) {
  agent.emplace(recorder, StreamAgent::Options{.timeout = 2s}, kStart);
  EXPECT_EQ(agent->next_deadline(), kStart + 2s);
  open(2s);
  EXPECT_EQ(agent->next_deadline(), std::nullopt);
  EXPECT_FALSE(list(kStart + 1s));
  EXPECT_EQ(agent->next_deadline(), kStart + 3s);
  agent->on_deadline(kStart + 3s - 1ns);
  EXPECT_TRUE(results.empty());
  agent->on_deadline(kStart + 3s);
  EXPECT_EQ(results, std::vector{error_code(AgentError::kTimeout)});
  EXPECT_FALSE(agent->over());  // a transaction's time-out is no end of the session
}

TEST_F(StreamAgentTest, ASessionThatIsNotOpenedInTimeIsOver) {
  agent.emplace(recorder, StreamAgent::Options{.timeout = 2s}, kStart);
  agent->on_deadline(kStart + 2s);
  EXPECT_EQ(recorder.reason, error_code(AgentError::kTimeout));
  EXPECT_EQ(agent->next_deadline(), std::nullopt);
}

TEST_F(StreamAgentTest, ClosesInOrder) {
  open();
  EXPECT_FALSE(list());
  agent->close(kStart);
  const auto messages = take();
  ASSERT_EQ(messages.size(), 2U);
  answer(messages[0].tid, PrlReply{});
  answer(messages[1].tid, StReply{});
  EXPECT_EQ(results, std::vector{error_code{}});
  EXPECT_EQ(recorder.reason, error_code(AgentError::kTerminated));
  EXPECT_EQ(recorder.ends, 1);
}

TEST_F(StreamAgentTest, ALostConnectionEndsWhatWaitsWithItsReason) {
  open();
  EXPECT_FALSE(list());
  agent->connection_lost();
  agent->connection_lost();
  EXPECT_EQ(results, std::vector{error_code(AgentError::kConnectionLost)});
  EXPECT_EQ(recorder.ends, 1);
  EXPECT_EQ(list(), error_code(AgentError::kNotOpen));
}

TEST_F(StreamAgentTest, EventsAndTheMiddleboxesEnd) {
  open();
  answer(TransactionId{1}, AreNotification{PolicyRuleId{4}, Lifetime{0}});
  EXPECT_EQ(recorder.events, 1);
  EXPECT_EQ(agent->take_event(), (RuleEvent{PolicyRuleId{4}, Lifetime{0}}));
  answer(TransactionId{2}, AstNotification{});
  EXPECT_EQ(recorder.reason, error_code(AgentError::kMiddleboxTerminated));
}

TEST_F(StreamAgentTest, AHeaderThatFitsNoMessageEndsTheSession) {
  open();
  agent->feed(test::from_hex("0222 0003 00000001"));
  EXPECT_EQ(recorder.reason, error_code(AgentError::kProtocolError));
}

TEST_F(StreamAgentTest, TakesNoMoreThanItMayQueue) {
  open();
  std::size_t taken = 0;
  while (!list()) ++taken;
  EXPECT_EQ(list(), error_code(AgentError::kOverloaded));
  EXPECT_GE(agent->output().size(), kAgentOutputMax);
  EXPECT_LT(agent->output().size(), kAgentOutputMax + kMessageSizeMax);
  EXPECT_EQ(taken, agent->output().size() / kHeaderSize);
}

}  // namespace
}  // namespace simco::agent
