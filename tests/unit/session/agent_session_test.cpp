#include "simco/session/agent_session.hpp"

#include <gtest/gtest.h>

#include "simco/session/middlebox_session.hpp"
#include "tests/support/octets.hpp"

namespace simco {
namespace {

using test::encoded;

class RecordingAgentHost final : public AgentSession::Host {
 public:
  void send(TransactionId tid, const Body& body) override { sent.push_back(encoded({tid, body})); }
  void on_open(const Capabilities& c) override { opened = c; }
  void on_reply(TransactionId tid, const Body&) override { replies.push_back(tid); }
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override {
    events.emplace_back(pid, lifetime);
  }
  void on_end(SessionEnd why, std::optional<NegativeReplyCode> with) override {
    end = why;
    code = with;
    ++ends;
  }

  std::vector<test::Octets> sent;
  std::optional<Capabilities> opened;
  std::vector<TransactionId> replies;
  std::vector<std::pair<PolicyRuleId, Lifetime>> events;
  std::optional<SessionEnd> end;
  std::optional<NegativeReplyCode> code;
  int ends = 0;
};

struct AgentFixture {
  RecordingAgentHost host;
  AgentSession session{host, 1};

  Message last() { return *decode(host.sent.back()); }
  void receive(const Message& message) { session.on_message(encoded(message)); }
  void open() {
    session.establish();
    receive({last().tid, SeReply{}});
    ASSERT_EQ(session.state(), SessionState::kOpen);
  }
};

TEST(AgentSession, Opens) {
  AgentFixture f;
  f.session.establish();
  EXPECT_EQ(f.last().body, Body{SeRequest{}});
  EXPECT_FALSE(f.session.request(PrlRequest{}));
  Capabilities capabilities;
  capabilities.lifetime_max_s = 77;
  f.receive({f.last().tid, SeReply{capabilities}});
  EXPECT_EQ(f.host.opened, capabilities);
  const auto tid = f.session.request(PrlRequest{});
  ASSERT_TRUE(tid);
  f.receive({*tid, PrlReply{}});
  EXPECT_EQ(f.host.replies, std::vector<TransactionId>{*tid});
}

TEST(AgentSession, GoesThroughNoAuthWhenItAskedForAuthentication) {
  AgentFixture f;
  f.session.establish(Challenge{OctetsView::of("who are you")});
  f.receive({f.last().tid, SaReply{{}, Token{}}});
  EXPECT_EQ(f.session.state(), SessionState::kNoAuth);
  EXPECT_EQ(f.last().body, Body{SaRequest{}});
  f.receive({f.last().tid, SeReply{}});
  EXPECT_EQ(f.session.state(), SessionState::kOpen);
}

TEST(AgentSession, EndsWithTheReasonWhateverEndsIt) {
  struct Case {
    Message message;
    SessionEnd end;
  };
  const Case cases[] = {
      {{{0}, NegativeReply{NegativeReplyCode::kLackOfResources, {}}}, SessionEnd::kRefused},
      {{{0}, SaReply{Challenge{OctetsView::of("x")}, {}}}, SessionEnd::kAuthenticationNeeded},
      {{{0}, PlcReply{}}, SessionEnd::kProtocolError},
      {{{9}, AstNotification{}}, SessionEnd::kMiddleboxTerminated},
      {{{9}, BfmNotification{}}, SessionEnd::kBadlyFormedMessage},
      {{{9}, PrlRequest{}}, SessionEnd::kProtocolError},
  };
  for (const auto& [message, end] : cases) {
    AgentFixture f;
    f.session.establish();
    ASSERT_EQ(f.last().tid.value, 0U);
    f.receive(message);
    EXPECT_EQ(f.host.end, end);
    EXPECT_EQ(f.host.code.has_value(), end == SessionEnd::kRefused);
    f.receive(message);
    EXPECT_EQ(f.host.ends, 1);
    EXPECT_EQ(f.session.state(), SessionState::kClosed);
  }
}

TEST(AgentSession, RubbishFromTheMiddleboxEndsIt) {
  AgentFixture f;
  f.open();
  f.session.on_message(test::from_hex("02 15 0000 00000001"));
  EXPECT_EQ(f.host.end, SessionEnd::kProtocolError);
}

TEST(AgentSession, TerminatesOnceAndWaitsForTheReply) {
  AgentFixture f;
  f.open();
  f.session.terminate();
  EXPECT_EQ(f.last().body, Body{StRequest{}});
  EXPECT_FALSE(f.session.request(PrlRequest{}));
  EXPECT_EQ(f.host.ends, 0);
  f.receive({f.last().tid, StReply{}});
  EXPECT_EQ(f.host.end, SessionEnd::kTerminated);
}

TEST(AgentSession, HandsOnRuleEvents) {
  AgentFixture f;
  f.open();
  f.receive({{1}, AreNotification{{5}, {60}}});
  f.receive({{2}, AreNotification{{5}, {0}}});
  ASSERT_EQ(f.host.events.size(), 2U);
  EXPECT_EQ(f.host.events[1].second, Lifetime{0});
}

TEST(TidAllocator, NeverRepeatsAndKeepsToTheStream) {
  for (const std::uint16_t streams : {1, 2, 16, 65535}) {
    TidAllocator tids(streams);
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < 1000; ++i) {
      const auto fresh = tids.next();
      ASSERT_TRUE(fresh);
      EXPECT_TRUE(seen.insert(fresh->value).second);
      const auto like = tids.next_like(*fresh);
      ASSERT_TRUE(like);
      EXPECT_TRUE(seen.insert(like->value).second);
      EXPECT_EQ(like->value % streams, fresh->value % streams);
    }
  }
}

TEST(TidAllocator, EndsWhenAStreamsTidsAreUsedUp) {
  TidAllocator tids(65535);
  const TransactionId on_stream_5{5};
  std::uint32_t count = 0;
  std::set<std::uint32_t> seen;
  while (const auto tid = tids.next_like(on_stream_5)) {
    EXPECT_TRUE(seen.insert(tid->value).second);
    ASSERT_LT(++count, 100'000U);
  }
  EXPECT_EQ(count, 65'537U);  // 5, 65540, ... up to 2^32 - 1
  EXPECT_TRUE(tids.next_like({6}));
}

}  // namespace
}  // namespace simco
