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
  void on_open(const Capabilities&) override {}
  void on_reply(TransactionId tid, const Body& reply) override {
    replies.push_back(tid);
    last_reply = reply;
  }
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override {
    events.emplace_back(pid, lifetime);
  }
  void on_end(SessionEnd why, std::optional<NegativeReplyCode> with) override {
    end = why;
    code = with;
    ++ends;
  }

  std::vector<test::Octets> sent;
  std::vector<TransactionId> replies;
  Body last_reply;
  std::vector<std::pair<PolicyRuleId, Lifetime>> events;
  std::optional<SessionEnd> end;
  std::optional<NegativeReplyCode> code;
  int ends = 0;
};

struct AgentFixture {
  explicit AgentFixture(AgentSession::Authentication authentication = {})
      : session(host, 1, std::move(authentication)) {}

  RecordingAgentHost host;
  AgentSession session;

  Message last() { return *decode(host.sent.back()); }
  void receive(const Message& message) { session.on_message(encoded(message)); }
  void open() {
    session.establish();
    receive({last().tid, SeReply{}});
    ASSERT_EQ(session.state(), SessionState::kOpen);
  }
};

const Credentials kProxy{"proxy", "sesame"};

TEST(AgentSession, ProvesWhoItIsWhenAsked) {
  AgentFixture f({kProxy, {}});
  f.session.establish();
  // The challenge gives a middlebox that would take anybody the chance to ask.
  EXPECT_TRUE(std::get<SeRequest>(f.last().body).challenge);
  const auto challenge = Challenge{OctetsView::of("0123456789abcdef0123456789abcdef")};
  f.receive({f.last().tid, SaReply{challenge, {}}});
  EXPECT_EQ(f.session.state(), SessionState::kNoAuth);
  const auto message = f.last();
  const auto& token = std::get<SaRequest>(message.body).token;
  ASSERT_TRUE(token);
  EXPECT_EQ(name_in_agent_token(token->octets), "proxy");
  EXPECT_TRUE(check_agent_token(token->octets, "sesame", challenge.octets));
  EXPECT_FALSE(check_agent_token(token->octets, "Sesame", challenge.octets));
  f.receive({message.tid, SeReply{}});
  EXPECT_EQ(f.session.state(), SessionState::kOpen);
}

TEST(AgentSession, MakesTheMiddleboxProveItself) {
  for (const char* secret : {"box", "not the box", ""}) {
    AgentFixture f({kProxy, "box"});
    f.session.establish();
    const auto first = f.last();
    const auto& challenge = std::get<SeRequest>(first.body).challenge;
    ASSERT_TRUE(challenge);
    EXPECT_EQ(challenge->octets.size(), kChallengeSize);
    const bool has_secret = *secret != 0;
    const auto token =
        has_secret ? make_middlebox_token(secret, challenge->octets) : std::vector<std::byte>{};
    f.receive({first.tid, SaReply{{}, Token{{token}}}});
    if (secret == std::string("box")) {
      EXPECT_EQ(f.last().body, Body{SaRequest{}});
      f.receive({f.last().tid, SeReply{}});
      EXPECT_EQ(f.session.state(), SessionState::kOpen);
    } else {
      EXPECT_EQ(f.host.end, SessionEnd::kMiddleboxNotAuthentic);
    }
  }
}

TEST(AgentSession, AMiddleboxThatPassesOverTheChallengeIsNotBelieved) {
  AgentFixture f({{}, "box"});
  f.session.establish();
  f.receive({f.last().tid, SeReply{}});
  EXPECT_EQ(f.host.end, SessionEnd::kMiddleboxNotAuthentic);
  AgentFixture g({kProxy, "box"});
  g.session.establish();
  g.receive({g.last().tid, SaReply{Challenge{OctetsView::of("x")}, {}}});
  EXPECT_EQ(g.host.end, SessionEnd::kMiddleboxNotAuthentic);
}

TEST(AgentSession, RepliesThatDoNotAnswerWhatWasAsked) {
  AgentFixture twice({kProxy, "box"});
  twice.session.establish();
  const auto first = twice.last();
  const auto token = make_middlebox_token("box", std::get<SeRequest>(first.body).challenge->octets);
  twice.receive({first.tid, SaReply{{}, Token{{token}}}});
  twice.receive({twice.last().tid, SaReply{{}, Token{{token}}}});
  EXPECT_EQ(twice.host.end, SessionEnd::kProtocolError);
  for (const Body& body : std::initializer_list<Body>{SeReply{}, SaReply{{}, Token{}}}) {
    AgentFixture ending;
    ending.open();
    ending.session.terminate();
    ending.receive({ending.last().tid, body});
    EXPECT_EQ(ending.host.end, SessionEnd::kProtocolError);
  }
  AgentFixture early;
  early.session.establish();
  early.receive({early.last().tid, StReply{}});
  EXPECT_EQ(early.host.end, SessionEnd::kProtocolError);
}

TEST(AgentSession, EveryChallengeIsAnother) {
  const auto one = random_challenge();
  EXPECT_NE(one, random_challenge());
}

TEST(Authentication, TokensAreAsWrittenDown) {
  // HMAC-SHA256 of the texts, computed with another implementation (Python's hmac module).
  const auto challenge = test::from_hex(
      "000102030405060708090a0b0c0d0e0f"
      "101112131415161718191a1b1c1d1e1f");
  EXPECT_EQ(test::to_hex(make_agent_token(kProxy, challenge)),
            "70726f787900e5c0705cb015a1615725138a45d0cc92fcbdefca00ffbab9caa145c41f5dfabc");
  EXPECT_EQ(test::to_hex(make_middlebox_token("box", challenge)),
            "f7578b585f61fb50dc4db7bfdece6eaa13933c46cb73dfbc2eb851562b36a22c");
}

TEST(Authentication, TokensThatHaveNotTheForm) {
  const auto name = [](std::string_view hex) {
    const auto octets = test::from_hex(hex);
    const auto found = name_in_agent_token(octets);
    return found ? std::optional(std::string(*found)) : std::nullopt;
  };
  const std::string digest(64, '0');
  EXPECT_EQ(name("61 00" + digest), "a");
  EXPECT_EQ(name("00" + digest), std::nullopt);               // no name
  EXPECT_EQ(name("6161" + digest), std::nullopt);             // no NUL
  EXPECT_EQ(name("61 00 61 00" + digest), std::nullopt);      // NUL inside the name
  EXPECT_EQ(name("61 00" + digest.substr(2)), std::nullopt);  // digest too short
  EXPECT_EQ(name(""), std::nullopt);
  std::string longest;
  for (int i = 0; i < 256; ++i) longest += "61";
  EXPECT_EQ(name(longest.substr(2) + "00" + digest), std::string(255, 'a'));
  EXPECT_EQ(name(longest + "00" + digest), std::nullopt);
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

// Messages of others, or of a later version, are not a reason to end a session with all its rules.
TEST(AgentSession, TakesWhatItNeedNotUnderstand) {
  AgentFixture f;
  f.open();
  const auto refused = [&](std::string_view hex, int code) {
    f.host.replies.clear();
    f.session.on_message(test::from_hex(hex));
    ASSERT_EQ(f.host.replies.size(), 1U) << hex;
    const auto& reply = std::get<NegativeReply>(f.host.last_reply);
    EXPECT_EQ(static_cast<int>(reply.code), code) << hex;
  };
  refused("03 f0 0000 00000007", 0xF0);                     // undefined
  refused("03 f0 0006 00000007 7777 0002 0000", 0xF0);      // with an attribute
  refused("03 43 0008 00000007 0005 0004 00000001", 0x43);  // where there should be none
  refused("03 22 0000 00000007", 0x22);                     // and none where one should be
  f.session.on_message(test::from_hex("04 7f 0004 00000009 0000 0000"));
  EXPECT_EQ(f.host.ends, 0);
  EXPECT_TRUE(f.host.events.empty());
  EXPECT_EQ(f.session.state(), SessionState::kOpen);
  // 8.2.2 to the letter: the IP version of the request, which may have been any.
  f.host.replies.clear();
  f.session.on_message(
      test::from_hex("02 11 0020 00000007 0005 0004 00000001 0006 0004 00000001"
                     "0007 0004 0000003c 0009 0004 10 00 11 02"));
  ASSERT_EQ(f.host.replies.size(), 1U);
  const auto& prr = std::get<PrrReply>(f.host.last_reply);
  EXPECT_EQ(prr.outside.ip_version, kIpVersionAny);
  EXPECT_EQ(f.host.ends, 0);
  // Of an SE, an undefined refusal is one all the same.
  AgentFixture opening;
  opening.session.establish();
  opening.session.on_message(test::from_hex("03 f0 0000 00000000"));
  EXPECT_EQ(opening.host.end, SessionEnd::kRefused);
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
