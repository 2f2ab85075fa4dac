// 7.3: the proofs of both sides, and their time.
#include <gtest/gtest.h>

#include "simco/session/authentication.hpp"
#include "simco/session/middlebox_session.hpp"
#include "tests/unit/session/recording_host.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;
using test::Fixture;
using test::is;
using test::kStart;

TEST(MiddleboxSession, ProvesItselfWhenAsked) {
  Fixture f;
  f.host.secret = "box";
  const auto challenge = Challenge{OctetsView::of("prove it")};
  f.receive({{9}, SeRequest{{3, 0}, challenge}});
  EXPECT_TRUE(f.host.challenged_by_agent);
  const auto messages = f.host.take();
  const auto& reply = std::get<SaReply>(messages.at(0).body);
  EXPECT_FALSE(reply.challenge);
  ASSERT_TRUE(reply.token);
  EXPECT_TRUE(check_middlebox_token(reply.token->octets, "box", challenge.octets));
}

TEST(MiddleboxSession, ChallengesTheAgentAndOpensOnItsProof) {
  Fixture f;
  f.host.admission.challenge = true;
  f.receive({{9}, SeRequest{}});
  EXPECT_FALSE(f.host.challenged_by_agent);
  const auto messages = f.host.take();
  const auto& reply = std::get<SaReply>(messages.at(0).body);
  ASSERT_TRUE(reply.challenge);
  EXPECT_EQ(reply.challenge->octets.size(), kChallengeSize);
  EXPECT_FALSE(reply.token);
  EXPECT_EQ(f.session.state(), SessionState::kNoAuth);
  f.receive({{10}, SaRequest{Token{OctetsView::of("proof")}}});
  EXPECT_EQ(f.host.shown, "proof");
  ASSERT_TRUE(f.host.asked);
  EXPECT_EQ(f.host.asked->front(), std::byte{7});
  EXPECT_EQ(f.session.state(), SessionState::kOpen);
  EXPECT_TRUE(is<SeReply>(f.host.take().at(0)));
  // The challenge is used up: SA is not applicable any more.
  f.receive({{11}, SaRequest{Token{OctetsView::of("proof")}}});
  EXPECT_EQ(f.refusal(), NegativeReplyCode::kNotApplicable);
  EXPECT_EQ(f.host.verifications, 1);
}

TEST(MiddleboxSession, AWrongProofIsRefusedLateAndEndsTheSession) {
  Fixture f;
  f.host.admission.challenge = true;
  f.receive({{9}, SeRequest{}});
  f.host.take();
  f.host.auth_result = {MiddleboxSession::AuthResult::Kind::kRefused,
                        NegativeReplyCode::kAuthenticationFailed, kStart + 1s};
  f.receive({{10}, SaRequest{Token{OctetsView::of("guess")}}});
  EXPECT_TRUE(f.host.take().empty());
  EXPECT_EQ(f.session.deadline(), kStart + 1s);
  EXPECT_TRUE(f.session.holding());  // no input meanwhile
  f.session.on_octets(false, kStart);
  f.session.on_deadline(kStart + 999ms);
  EXPECT_TRUE(f.host.take().empty());
  EXPECT_EQ(f.host.verifications, 1);
  f.session.on_deadline(kStart + 1s);
  EXPECT_EQ(f.refusal(), NegativeReplyCode::kAuthenticationFailed);
  EXPECT_EQ(f.host.closings, 1);
  EXPECT_EQ(f.session.state(), SessionState::kClosed);
}

TEST(MiddleboxSession, AProofMayHaveToWaitForItsJudgement) {
  Fixture f;
  f.host.admission.challenge = true;
  f.receive({{9}, SeRequest{}});
  f.host.take();
  f.host.auth_result = {MiddleboxSession::AuthResult::Kind::kLater, {}, kStart + 5s};
  f.receive({{10}, SaRequest{Token{OctetsView::of("proof")}}});
  f.host.shown.reset();
  f.host.auth_result = {};
  f.session.on_deadline(kStart + 5s);
  EXPECT_EQ(f.host.shown, "proof");
  EXPECT_EQ(f.session.state(), SessionState::kOpen);
  EXPECT_EQ(f.host.take().at(0).tid, TransactionId{10});
}

// The input pauses while a proof is held back; messages that waited count from their delivery.
TEST(MiddleboxSession, HalfAMessageBehindAHeldProofHasItsTime) {
  Fixture f;
  f.host.admission.challenge = true;
  f.receive({{9}, SeRequest{}});
  f.host.auth_result = {MiddleboxSession::AuthResult::Kind::kLater, {}, kStart + 5s};
  f.receive({{10}, SaRequest{Token{OctetsView::of("proof")}}});
  f.session.on_octets(false, kStart);
  f.host.auth_result = {};
  f.session.on_deadline(kStart + 5s);
  EXPECT_FALSE(f.session.holding());
  f.session.on_octets(true, kStart + 5s);
  EXPECT_EQ(f.session.deadline(), kStart + 65s);
  f.host.take();
  f.session.on_deadline(kStart + 65s);
  const auto messages = f.host.take();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_TRUE(is<BfmNotification>(messages[0]));
  EXPECT_TRUE(is<AstNotification>(messages[1]));
}

TEST(MiddleboxSession, AnOrderlyEndDoesNotWaitForAHeldProof) {
  Fixture f;
  f.host.admission.challenge = true;
  f.receive({{9}, SeRequest{}});
  f.host.take();
  f.host.auth_result = {MiddleboxSession::AuthResult::Kind::kLater, {}, kStart + 5s};
  f.receive({{10}, SaRequest{}});
  EXPECT_EQ(f.host.shown, std::nullopt);
  f.session.terminate();
  EXPECT_TRUE(is<AstNotification>(f.host.take().at(0)));
  EXPECT_EQ(f.host.closings, 1);
  f.session.on_deadline(kStart + 5s);
  EXPECT_TRUE(f.host.take().empty());
}

}  // namespace
}  // namespace simco
