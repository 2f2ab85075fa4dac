// Authentication over a socket: tokens, the time that wrong ones take, and the rights of names.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "simco/session/authentication.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/server_thread.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using middlebox::ServerOptions;
using test::RawAgent;
using test::refusal;
using test::ServerThread;

policy::AgentPolicy named(const char* name, const char* secret = "") {
  policy::AgentPolicy policy;
  policy.name = name;
  policy.secret = secret;
  return policy;
}

ServerOptions one_proxy() {
  ServerOptions options;
  options.directory = {};
  options.directory.add(named("proxy", "sesame"));
  return options;
}

/// Has a session opened up to the middlebox's challenge, which it returns.
test::Octets challenge_of(RawAgent& agent) {
  const auto reply = agent.ask(SeRequest{});
  const auto octets = std::get<SaReply>(reply).challenge->octets;
  return {octets.begin(), octets.end()};
}

void prove(RawAgent& agent, const test::Octets& challenge, const std::string& secret) {
  const auto token = make_agent_token({"proxy", secret}, challenge);
  agent.send(Message{{9}, SaRequest{Token{{token}}}});
}

/// Opens a session as proxy. With a challenge of its own, an agent that might stay anonymous is
/// asked for its name, too.
void authenticate(RawAgent& agent) {
  const auto greeting = agent.ask(SeRequest{{3, 0}, Challenge{OctetsView::of("?")}});
  const auto& asked = std::get<SaReply>(greeting);
  ASSERT_TRUE(asked.challenge);
  const auto token = make_agent_token({"proxy", "sesame"}, asked.challenge->octets);
  EXPECT_TRUE(std::holds_alternative<SeReply>(agent.ask(SaRequest{Token{{token}}})));
}

PolicyRuleId add(RawAgent& agent) {
  return std::get<PerReply>(agent.ask(test::pinhole(5004, test::kLongLifetimeS))).pid;
}

TEST(Authentication, AWrongTokenCostsTimeAndARightOneNoMoreThanThat) {
  ServerThread server(one_proxy());
  const auto begin = std::chrono::steady_clock::now();
  RawAgent guesser(server.port());
  RawAgent knower(server.port());
  prove(guesser, challenge_of(guesser), "guess");
  prove(knower, challenge_of(knower), "sesame");
  EXPECT_EQ(refusal(guesser.receive()->body), kAuthenticationFailed);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
  EXPECT_TRUE(guesser.at_end());
  EXPECT_TRUE(std::holds_alternative<SeReply>(knower.receive()->body));
}

// From the same address, for the same name: many more than a queue of one a second would hold.
TEST(Authentication, AFloodOfWrongTokensKeepsTheRightOneOutForNoLongerThanOne) {
  ServerThread server(one_proxy());
  std::vector<std::unique_ptr<RawAgent>> guessers;
  for (int i = 0; i < 200; ++i) {
    auto& guesser = *guessers.emplace_back(std::make_unique<RawAgent>(server.port()));
    prove(guesser, challenge_of(guesser), "guess");
  }
  RawAgent knower(server.port());
  prove(knower, challenge_of(knower), "sesame");
  EXPECT_TRUE(std::holds_alternative<SeReply>(knower.receive()->body));
  // All guesses are refused at last, none of them without a look; so each has waited at most twice.
  for (auto& guesser : guessers) {
    EXPECT_EQ(refusal(guesser->receive()->body), kAuthenticationFailed);
  }
}

TEST(Authentication, WhoWasRightBeforeDoesNotWaitForAnotherOnesGuesses) {
  auto options = one_proxy();
  options.authentication_pause = 1h;
  ServerThread server(options);
  RawAgent knower(server.port());
  prove(knower, challenge_of(knower), "sesame");
  EXPECT_TRUE(std::holds_alternative<SeReply>(knower.receive()->body));
  RawAgent guesser(server.port());
  prove(guesser, challenge_of(guesser), "guess");
  RawAgent again(server.port());
  prove(again, challenge_of(again), "sesame");
  EXPECT_TRUE(std::holds_alternative<SeReply>(again.receive()->body));
}

TEST(Authentication, AProofThatWaitsIsJudgedBeforeItsConnectionMakesRoom) {
  auto options = one_proxy();
  options.guests_max = 2;
  options.authentication_pause = 1h;
  ServerThread server(options);
  RawAgent guesser(server.port());
  prove(guesser, challenge_of(guesser), "guess");
  RawAgent knower(server.port());
  prove(knower, challenge_of(knower), "sesame");  // waits
  RawAgent third(server.port());
  EXPECT_TRUE(guesser.at_end());  // without its refusal, which was not yet due
  RawAgent fourth(server.port());
  EXPECT_TRUE(std::holds_alternative<SeReply>(knower.receive()->body));
  // There is room for two: nobody else has to go.
  EXPECT_EQ(challenge_of(third).size(), kChallengeSize);
  EXPECT_EQ(challenge_of(fourth).size(), kChallengeSize);
}

// 7 and 7.4: every request is answered, also one that came while the token before it had to wait.
TEST(Authentication, WhatFollowsATokenThatWaitsIsAnswered) {
  ServerThread server(one_proxy());
  RawAgent guesser(server.port());
  prove(guesser, challenge_of(guesser), "guess");
  RawAgent agent(server.port());
  const auto challenge = challenge_of(agent);  // the guess is in by now
  // In one segment, and with half a message at its end.
  const auto token = make_agent_token({"proxy", "sesame"}, challenge);
  const auto octets =
      test::concat({test::encoded({{2}, SaRequest{Token{{token}}}}),
                    test::encoded({{3}, PrlRequest{}}), test::encoded({{4}, StRequest{}})});
  const std::span<const std::byte> sent(octets);
  agent.send(sent.first(octets.size() - 3));
  EXPECT_TRUE(std::holds_alternative<SeReply>(agent.receive()->body));
  EXPECT_TRUE(std::holds_alternative<PrlReply>(agent.receive()->body));
  agent.send(sent.last(3));
  EXPECT_TRUE(std::holds_alternative<StReply>(agent.receive()->body));
  EXPECT_TRUE(agent.at_end());
}

TEST(Authentication, ANewDirectoryEndsSessionsOfThoseItDoesNotHave) {
  auto options = one_proxy();
  options.directory.add(named("anonymous@127.0.0.0/8"));
  ServerThread server(options);
  RawAgent proxy(server.port());
  authenticate(proxy);
  RawAgent anonymous(server.port());
  anonymous.open();
  const auto pid = add(proxy);
  server.ask([](middlebox::Server& box) {
    policy::AgentDirectory fresh;
    policy::AgentPolicy boss;
    boss.name = "anonymous@127.0.0.1";
    boss.may_see = {"*"};
    fresh.add(boss);
    box.apply(std::move(fresh), "");
    return 0;
  });
  EXPECT_TRUE(std::holds_alternative<AstNotification>(proxy.receive()->body));
  EXPECT_TRUE(proxy.at_end());
  // The rule outlives the session, and the other agent's rights are the new ones.
  EXPECT_TRUE(std::holds_alternative<PesReply>(anonymous.ask(PrsRequest{pid})));
}

TEST(Authentication, WhoHasNotAuthenticatedTakesNoPlace) {
  auto options = one_proxy();
  options.sessions_max = 1;
  ServerThread server(options);
  RawAgent one(server.port());
  RawAgent two(server.port());
  const auto first = challenge_of(one);
  prove(two, challenge_of(two), "sesame");
  EXPECT_TRUE(std::holds_alternative<SeReply>(two.receive()->body));
  prove(one, first, "sesame");
  EXPECT_EQ(refusal(one.receive()->body), kLackOfResources);
}

}  // namespace
}  // namespace simco
