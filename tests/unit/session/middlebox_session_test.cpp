#include "simco/session/middlebox_session.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/support/figures.hpp"
#include "tests/unit/session/recording_host.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;
using test::encoded;
using test::Fixture;
using test::from_hex;
using test::is;
using test::kSessionStreams;
using test::kStart;
using test::RecordingHost;

// --- Figure 41, every state with every message type there can be -------------------------------

struct Expected {
  std::string replies;  ///< names of the messages sent
  SessionState state;
  bool closed;
};

/// The RFC's reply (as doc/rfc4540.md reads it) to a well-formed message of `type` in `state`.
Expected expected(SessionState state, MessageType type) {
  const auto refused = [&](const char* code) {
    const bool open = state == SessionState::kOpen;
    return Expected{code, open ? SessionState::kOpen : SessionState::kClosed, !open};
  };
  if (type.basic != 1) return refused("0310");
  const auto sub = static_cast<SubType>(type.sub);
  const bool session_control = sub == SubType::kSe || sub == SubType::kSa || sub == SubType::kSt;
  const bool rule_control = sub == SubType::kPrr || sub == SubType::kPer || sub == SubType::kPea ||
                            sub == SubType::kPdr || sub == SubType::kPlc || sub == SubType::kPrs ||
                            sub == SubType::kPrl;
  switch (state) {
    case SessionState::kClosed:
      if (sub == SubType::kSe) return {"0201", SessionState::kOpen, false};
      return refused("0311");
    case SessionState::kNoAuth:
      if (sub == SubType::kSe) return {"0320", SessionState::kNoAuth, false};
      if (sub == SubType::kSa) return {"0201", SessionState::kOpen, false};
      if (sub == SubType::kSt) return {"0203", SessionState::kClosed, true};
      return refused("0311");
    case SessionState::kOpen:
      if (sub == SubType::kSt) return {"0203", SessionState::kClosed, true};
      if (session_control) return {"0320", SessionState::kOpen, false};
      if (rule_control) return {"executed", SessionState::kOpen, false};
      return refused("0311");
  }
  return {};
}

TEST(MiddleboxSession, EveryStateWithEveryMessageType) {
  // A well-formed example of each type that has one; the others are judged before their payload.
  std::map<MessageType, test::Octets> examples;
  for (const auto& figure : test::figure_cases()) {
    examples.try_emplace(type_of(decode(figure.octets)->body), figure.octets);
  }
  for (const auto state : {SessionState::kClosed, SessionState::kNoAuth, SessionState::kOpen}) {
    for (int basic = 0; basic < 256; ++basic) {
      for (int sub = 0; sub < 256; ++sub) {
        const MessageType type{static_cast<std::uint8_t>(basic), static_cast<std::uint8_t>(sub)};
        const auto example = examples.find(type);
        auto octets = example == examples.end() ? from_hex("00 00 0000 00000063") : example->second;
        octets[0] = static_cast<std::byte>(basic);
        octets[1] = static_cast<std::byte>(sub);
        Fixture f(state);
        f.session.on_message(octets);
        const auto wanted = expected(state, type);
        SCOPED_TRACE(std::string(to_string(state)) + " with " + test::to_hex(octets));
        if (wanted.replies == "executed") {
          ASSERT_EQ(f.host.executing.size(), 1U);
          ASSERT_TRUE(f.host.sent.empty());
        } else {
          ASSERT_EQ(f.host.sent.size(), 1U);
          ASSERT_EQ(test::to_hex(std::span(f.host.sent[0]).first(2)), wanted.replies);
          // A reply carries its request's TID.
          ASSERT_EQ(test::to_hex(std::span(f.host.sent[0]).subspan(4, 4)),
                    test::to_hex(std::span(octets).subspan(4, 4)));
        }
        ASSERT_EQ(f.session.state(), wanted.state);
        ASSERT_EQ(f.host.closings, wanted.closed ? 1 : 0);
      }
    }
  }
}

// --- Establishing ------------------------------------------------------------------------------

TEST(MiddleboxSession, RefusesWithoutResourcesBeforeItLooksAtTheVersion) {
  Fixture f;
  f.host.room = false;
  f.receive({{9}, SeRequest{{2, 0}, {}}});
  EXPECT_EQ(f.refusal(), NegativeReplyCode::kLackOfResources);
  EXPECT_EQ(f.host.closings, 1);
  EXPECT_EQ(f.host.openings, 0);
}

// 7.2.
TEST(MiddleboxSession, RefusesAnInsecureConnectionBeforeItLooksAtTheVersion) {
  Fixture fixture;
  fixture.host.admission.refusal = NegativeReplyCode::kSecurityInsufficient;
  fixture.receive(Message{TransactionId{1}, SeRequest{ProtocolVersion{2, 1}, {}}});
  EXPECT_EQ(test::refusal(fixture.host.take().at(0).body),
            NegativeReplyCode::kSecurityInsufficient);
  EXPECT_EQ(fixture.host.closings, 1);
}

TEST(MiddleboxSession, CannotAuthenticateItselfAndSaysSoWithAnEmptyToken) {
  Fixture f;
  f.receive({{9}, SeRequest{{3, 0}, Challenge{OctetsView::of("prove it")}}});
  auto messages = f.host.take();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0], (Message{{9}, SaReply{{}, Token{}}}));
  EXPECT_EQ(f.session.state(), SessionState::kNoAuth);
  EXPECT_EQ(f.host.openings, 0);
  f.receive({{10}, SaRequest{}});
  messages = f.host.take();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_TRUE(is<SeReply>(messages[0]));
  EXPECT_EQ(f.host.openings, 1);
}

// --- Section 6 ---------------------------------------------------------------------------------

TEST(MiddleboxSession, InconsistentHeaderIsBfmAndInASessionAstToo) {
  for (const auto state : {SessionState::kClosed, SessionState::kNoAuth, SessionState::kOpen}) {
    Fixture f(state);
    f.session.on_malformed();
    const auto messages = f.host.take();
    ASSERT_EQ(messages.size(), state == SessionState::kClosed ? 1U : 2U);
    EXPECT_TRUE(is<BfmNotification>(messages[0]));
    if (messages.size() == 2) {
      EXPECT_TRUE(is<AstNotification>(messages[1]));
      EXPECT_NE(messages[0].tid, messages[1].tid);
      EXPECT_EQ(messages[0].tid.value % kSessionStreams, messages[1].tid.value % kSessionStreams);
    }
    EXPECT_EQ(f.host.closings, 1);
    EXPECT_EQ(f.session.state(), SessionState::kClosed);
  }
}

TEST(MiddleboxSession, SilenceInsideAMessageIsBfm) {
  for (const auto state : {SessionState::kClosed, SessionState::kNoAuth, SessionState::kOpen}) {
    Fixture f(state);
    // Each octet restarts the time of an open session. The others have one deadline, so that an
    // octet now and then does not keep a connection without a session.
    const bool open = state == SessionState::kOpen;
    f.session.on_octets(true, kStart + 10s);
    ASSERT_EQ(f.session.deadline(), kStart + (open ? 70s : 60s));
    f.session.on_octets(true, kStart + 30s);
    const auto due = kStart + (open ? 90s : 60s);
    ASSERT_EQ(f.session.deadline(), due);
    f.session.on_deadline(due - 1ns);
    EXPECT_TRUE(f.host.sent.empty());
    f.session.on_deadline(due);
    const auto messages = f.host.take();
    ASSERT_EQ(messages.size(), state == SessionState::kClosed ? 1U : 2U);
    EXPECT_TRUE(is<BfmNotification>(messages[0]));
    EXPECT_EQ(f.host.closings, 1);
  }
}

TEST(MiddleboxSession, AConnectionWithoutSessionIsClosedInTheEnd) {
  Fixture closed;
  ASSERT_EQ(closed.session.deadline(), kStart + 60s);
  closed.session.on_deadline(kStart + 60s);
  EXPECT_TRUE(closed.host.sent.empty());
  EXPECT_EQ(closed.host.closings, 1);

  Fixture no_auth(SessionState::kNoAuth);
  no_auth.session.on_deadline(kStart + 60s);
  const auto messages = no_auth.host.take();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_TRUE(is<AstNotification>(messages[0]));
  EXPECT_EQ(no_auth.host.closings, 1);
}

TEST(MiddleboxSession, AMessageThatTheTransportCutIsBadlyFormed) {
  Fixture f;
  f.receive("01 01 ffff 00000009 0001 0004 03 00 0000");
  EXPECT_EQ(f.refusal(), NegativeReplyCode::kBadlyFormedRequest);
  EXPECT_EQ(f.host.closings, 1);
}

// --- Ending ------------------------------------------------------------------------------------

// 7.5: AST, also where the agent does not read and nothing else fits.
TEST(MiddleboxSession, WhoIsCutOffStillGetsAst) {
  Fixture f(SessionState::kOpen);
  f.receive({{5}, PrlRequest{}});
  f.session.cut_off();
  const auto messages = f.host.take();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_TRUE(is<AstNotification>(messages[0]));
  EXPECT_EQ(f.host.closings, 1);
  EXPECT_EQ(f.session.state(), SessionState::kClosed);
  f.session.cut_off();
  f.session.reply({5}, PrlReply{});
  EXPECT_TRUE(f.host.take().empty());
  EXPECT_EQ(f.host.closings, 1);
  Fixture early;
  early.session.cut_off();
  EXPECT_TRUE(early.host.take().empty());
  EXPECT_EQ(early.host.closings, 1);
}

TEST(MiddleboxSession, StWaitsForTheRepliesThatAreDueAndIgnoresWhatFollows) {
  Fixture f(SessionState::kOpen);
  f.receive({{5}, PrlRequest{}});
  f.receive({{6}, PrlRequest{}});
  f.receive({{7}, StRequest{}});
  f.receive({{8}, PrlRequest{}});
  EXPECT_EQ(f.host.executing.size(), 2U);
  EXPECT_TRUE(f.host.sent.empty());
  f.session.reply({6}, PrlReply{});
  EXPECT_EQ(f.host.closings, 0);
  f.session.reply({5}, PrlReply{});
  const auto messages = f.host.take();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].tid.value, 6U);
  EXPECT_EQ(messages[1].tid.value, 5U);
  EXPECT_EQ(messages[2], (Message{{7}, StReply{}}));
  EXPECT_EQ(f.host.closings, 1);
}

TEST(MiddleboxSession, AstComesLast) {
  Fixture f(SessionState::kOpen);
  f.receive({{5}, PrlRequest{}});
  f.session.terminate();
  f.session.notify({1}, {0}, {5});
  EXPECT_TRUE(f.host.sent.empty());
  f.session.reply({5}, PrlReply{});
  const auto messages = f.host.take();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_TRUE(is<PrlReply>(messages[0]));
  EXPECT_TRUE(is<AstNotification>(messages[1]));
  EXPECT_EQ(f.host.closings, 1);
  f.session.terminate();
  EXPECT_TRUE(f.host.sent.empty());
}

TEST(MiddleboxSession, LateRepliesToALostConnectionGoNowhere) {
  Fixture f(SessionState::kOpen);
  f.receive({{5}, PrlRequest{}});
  f.session.connection_lost();
  f.session.reply({5}, PrlReply{});
  EXPECT_TRUE(f.host.sent.empty());
  EXPECT_EQ(f.session.in_flight(), 0U);
}

TEST(MiddleboxSession, NotificationsTakeFreshTidsOnTheStreamOfTheRule) {
  RecordingHost host;
  MiddleboxSession session({60s, 16}, host, kStart);
  session.on_message(encoded({{1}, SeRequest{}}));
  host.take();
  std::set<std::uint32_t> tids;
  for (std::uint32_t i = 0; i < 100; ++i) session.notify({1}, {60}, {1000 + i % 20});
  const auto messages = host.take();
  ASSERT_EQ(messages.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(messages[i].tid.value % 16, (1000 + i % 20) % 16);
    EXPECT_TRUE(tids.insert(messages[i].tid.value).second);
  }
}

}  // namespace
}  // namespace simco
