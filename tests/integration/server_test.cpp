// The middlebox over real TCP connections: when sessions end, and peers that do not behave.
// Messages and replies are in tests/vectors/transcripts.
#include <gtest/gtest.h>

#include <fstream>

#include "simco/net/limits.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/server_thread.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::pinhole;
using test::RawAgent;
using test::ServerThread;

bool is_refused(const Body& body, NegativeReplyCode code) {
  return body == Body{NegativeReply{code, {}}};
}

TEST(Server, RulesOutliveABrokenConnection) {
  ServerThread server;
  PolicyRuleId pid;
  {
    RawAgent agent(server.port());
    agent.open();
    pid = std::get<PerReply>(agent.ask(pinhole(1, test::kLongLifetimeS))).pid;
    agent.reset();
  }
  ASSERT_TRUE(eventually([&] { return server.connections() == 0; }));
  RawAgent agent(server.port());
  agent.open();
  EXPECT_TRUE(std::holds_alternative<PesReply>(agent.ask(PrsRequest{pid})));
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

TEST(Server, SessionsAreLimited) {
  middlebox::ServerOptions options;
  options.sessions_max = 2;
  ServerThread server(options);
  RawAgent one(server.port());
  one.open();
  {
    RawAgent two(server.port());
    two.open();
    RawAgent three(server.port());
    EXPECT_TRUE(is_refused(three.ask(SeRequest{}), NegativeReplyCode::kLackOfResources));
    EXPECT_TRUE(three.at_end());
  }
  ASSERT_TRUE(eventually([&] { return server.sessions() == 1; }));
  RawAgent four(server.port());
  four.open();
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

TEST(Server, ALongMessageBeforeTheSessionIsRefusedWithoutBeingKept) {
  ServerThread server;
  RawAgent stranger(server.port());
  const auto octets = test::from_hex("01 01 fff8 00000001");
  EXPECT_TRUE(refuses_the_longest(stranger, octets));
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

TEST(Server, ALongMessageBeforeAuthenticationIsRefusedWithoutBeingKept) {
  middlebox::ServerOptions options;
  options.directory = {};
  policy::AgentPolicy proxy;
  proxy.name = "proxy";
  proxy.secret = "sesame";
  options.directory.add(proxy);
  ServerThread server(options);
  RawAgent stranger(server.port());
  EXPECT_TRUE(std::holds_alternative<SaReply>(stranger.ask(SeRequest{})));
  const auto octets = test::from_hex("01 02 fff8 00000002 0003 fff4");
  EXPECT_TRUE(refuses_the_longest(stranger, octets));
  EXPECT_TRUE(stranger.at_end());
}

// --- Peers that cost ---------------------------------------------------------------------------

std::size_t resident_octets() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

// An agent asks for 64 KiB lists without end and never reads one.
TEST(Server, APeerThatNeverReadsCostsNoMoreThanItsBound) {
  ServerThread server;
  RawAgent witness(server.port());
  witness.open();
  test::Octets setup;
  for (std::uint32_t i = 0; i < 8000; ++i) {
    const auto one = test::encoded({{i}, pinhole(static_cast<std::uint16_t>(i + 1), 3600)});
    setup.insert(setup.end(), one.begin(), one.end());
  }
  std::thread sender([&] { witness.send(setup); });
  for (int i = 0; i < 8000; ++i) ASSERT_TRUE(witness.receive());
  sender.join();
  const auto before = resident_octets();
  {
    RawAgent greedy(server.port());
    greedy.open();
    test::Octets lists;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
      const auto one = test::encoded({{i}, PrlRequest{}});
      lists.insert(lists.end(), one.begin(), one.end());
    }
    greedy.socket().non_blocking(true);
    // Until nothing more is taken, however often the server had its turn.
    std::size_t at = 0;
    for (int refused = 0; refused < 20; ++refused) {
      boost::system::error_code full;
      const auto taken = greedy.socket().write_some(
          boost::asio::buffer(lists.data() + at, lists.size() - at), full);
      at = (at + taken) % lists.size();
      if (taken != 0) refused = 0;
      EXPECT_TRUE(std::holds_alternative<PesReply>(witness.ask(PrsRequest{{1}})));
    }
    // 80,000 octets of requests ask for 640 MB of replies.
    EXPECT_LT(resident_octets(), before + 30'000'000);
  }
}

}  // namespace
}  // namespace simco
