// The middlebox over real TCP connections: when sessions end, and peers that do not behave.
// Messages and replies are in tests/vectors/transcripts.
#include <gtest/gtest.h>

#include "tests/support/patience.hpp"
#include "tests/support/server_thread.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::RawAgent;
using test::ServerThread;

bool is_refused(const Body& body, NegativeReplyCode code) {
  return body == Body{NegativeReply{code, {}}};
}

TEST(Server, StopSaysAstToOpenSessionsAndClosesTheOthers) {
  ServerThread server;
  RawAgent open(server.port());
  RawAgent silent(server.port());
  open.open();
  ASSERT_TRUE(eventually([&] { return server.connections() == 2; }));
  std::thread stopper([&] { server.stop(); });
  const auto last = open.receive();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->body, Body{AstNotification{}});
  EXPECT_TRUE(open.at_end());
  EXPECT_TRUE(silent.at_end());
  open.socket().close();
  silent.socket().close();
  stopper.join();
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

// Each of them hears of each change of its agent's rules.
TEST(Server, AnAgentHasALimitOfSessions) {
  ServerThread server;
  std::vector<std::unique_ptr<RawAgent>> open;
  for (std::uint32_t i = 0; i < policy::kAgentSessionsMaxDefault; ++i) {
    open.push_back(std::make_unique<RawAgent>(server.port()));
    open.back()->open();
  }
  RawAgent one_more(server.port());
  EXPECT_TRUE(is_refused(one_more.ask(SeRequest{}), NegativeReplyCode::kLackOfResources));
}

TEST(Server, HalfAMessageAndThenSilence) {
  middlebox::ServerOptions options;
  options.message_timeout = 300ms;
  ServerThread server(options);
  // We may be too slow to open a session in that time, and then try again.
  std::optional<RawAgent> patient;
  ASSERT_TRUE(eventually([&] { return patient.emplace(server.port()).try_open(); }));
  auto& agent = *patient;
  // Between messages silence is allowed: another connection is over, and this one is not.
  EXPECT_TRUE(RawAgent(server.port()).at_end());
  EXPECT_TRUE(RawAgent(server.port()).at_end());
  EXPECT_TRUE(std::holds_alternative<PrlReply>(agent.ask(PrlRequest{})));
  agent.send("01 21 0008 00000009 0005");
  auto reply = agent.receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, Body{BfmNotification{}});
  reply = agent.receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, Body{AstNotification{}});
  EXPECT_TRUE(agent.at_end());
}

TEST(Server, RefusalsComeBeforeTheCloseHoweverMuchIsUnread) {
  ServerThread server;
  RawAgent stranger(server.port());
  test::Octets flood = test::from_hex("01 12 0000 00000001");
  flood.resize(1'000'000);
  std::thread sender([&] { stranger.send(flood); });
  const auto reply = stranger.receive();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(is_refused(reply->body, NegativeReplyCode::kWrongSubType));
  EXPECT_TRUE(stranger.at_end());
  stranger.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_both);
  sender.join();
}

/// A message that begins with `octets` and is as long as it may be, sent piece by piece.
bool refuses_the_longest(RawAgent& stranger, test::Octets octets) {
  octets.resize(kMessageSizeMax);
  for (std::size_t at = 0; at < octets.size(); at += 8192) {
    stranger.send(std::span(octets).subspan(at, 8192));
    std::this_thread::sleep_for(1ms);
  }
  const auto reply = stranger.receive();
  return reply && is_refused(reply->body, NegativeReplyCode::kBadlyFormedRequest);
}

// However many say nothing, who comes next gets in; the oldest of them goes.
TEST(Server, SilentConnectionsKeepNobodyOut) {
  middlebox::ServerOptions options;
  options.guests_max = 4;
  ServerThread server(options);
  RawAgent first(server.port());
  first.open();
  std::vector<std::unique_ptr<RawAgent>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<RawAgent>(server.port()));
    if (i % 10 != 0) continue;
    RawAgent fresh(server.port());
    fresh.open();
    EXPECT_TRUE(std::holds_alternative<StReply>(fresh.ask(StRequest{})));
  }
  EXPECT_TRUE(silent.front()->at_end());
  EXPECT_TRUE(std::holds_alternative<PrlReply>(first.ask(PrlRequest{})));
  RawAgent last(server.port());
  last.open();
}

TEST(Server, ALongMessageWithoutASessionIsRefusedWithoutBeingKept) {
  middlebox::ServerOptions options;
  options.directory = {};
  policy::AgentPolicy proxy;
  proxy.name = "proxy";
  proxy.secret = "sesame";
  options.directory.add(proxy);
  ServerThread server(options);
  RawAgent first(server.port());
  EXPECT_TRUE(refuses_the_longest(first, test::from_hex("01 01 fff8 00000001")));
  RawAgent stranger(server.port());
  EXPECT_TRUE(std::holds_alternative<SaReply>(stranger.ask(SeRequest{})));
  EXPECT_TRUE(refuses_the_longest(stranger, test::from_hex("01 02 fff8 00000002 0003 fff4")));
  EXPECT_TRUE(stranger.at_end());
}

}  // namespace
}  // namespace simco
