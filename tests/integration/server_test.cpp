// The middlebox over real TCP connections: section 6 and 7 as a peer sees them, and peers that do
// not behave.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>

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

TEST(Server, ASessionFromBeginningToEnd) {
  ServerThread server;
  RawAgent agent(server.port());
  agent.open();
  const auto reply = agent.ask(pinhole(5004));
  const auto pid = std::get<PerReply>(reply).pid;
  const auto status = agent.ask(PrsRequest{pid});
  EXPECT_EQ(std::get<PesReply>(status).owner.text(), "anonymous@127.0.0.1");
  EXPECT_EQ(std::get<PrlReply>(agent.ask(PrlRequest{})).pids, std::vector{pid});
  EXPECT_EQ(std::get<PlcReply>(agent.ask(PlcRequest{pid, {5}})).lifetime, Lifetime{5});
  EXPECT_TRUE(std::holds_alternative<PrdReply>(agent.ask(PlcRequest{pid, {0}})));
  EXPECT_TRUE(std::holds_alternative<StReply>(agent.ask(StRequest{})));
  EXPECT_TRUE(agent.at_end());
}

TEST(Server, ManyRequestsInOneSegmentGetTheirReplies) {
  ServerThread server;
  RawAgent agent(server.port());
  agent.open();
  test::Octets burst;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto one = test::encoded({{1000 + i}, pinhole(static_cast<std::uint16_t>(i + 1), 3600)});
    burst.insert(burst.end(), one.begin(), one.end());
  }
  std::thread sender([&] { agent.send(burst); });
  std::set<std::uint32_t> pids;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto reply = agent.receive();
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->tid.value, 1000 + i);
    ASSERT_TRUE(pids.insert(std::get<PerReply>(reply->body).pid.value).second);
  }
  sender.join();
  EXPECT_EQ(server.rules(), 5000U);
}

TEST(Server, RulesExpireAndTheOtherSessionsOfTheOwnerHear) {
  ServerThread server;
  RawAgent one(server.port());
  RawAgent two(server.port());
  one.open();
  two.open();
  const auto pid = std::get<PerReply>(one.ask(pinhole(1, 1))).pid;
  auto heard = two.receive();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->body, (Body{AreNotification{pid, {1}}}));
  for (RawAgent* agent : {&one, &two}) {
    heard = agent->receive();
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->body, (Body{AreNotification{pid, {0}}}));
  }
  EXPECT_TRUE(is_refused(one.ask(PrsRequest{pid}), NegativeReplyCode::kNoSuchRule));
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

// --- Section 6 over the wire -------------------------------------------------------------------

TEST(Server, InconsistentHeaders) {
  ServerThread server;
  for (const char* hex :
       {"01 22 0001 00000009", "01 22 0003 00000009 000000", "01 22 fff9 00000009"}) {
    RawAgent stranger(server.port());
    stranger.send(hex);
    auto reply = stranger.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, Body{BfmNotification{}});
    EXPECT_TRUE(stranger.at_end());
    RawAgent agent(server.port());
    agent.open();
    agent.send(hex);
    reply = agent.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, Body{BfmNotification{}});
    reply = agent.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, Body{AstNotification{}});
    EXPECT_TRUE(agent.at_end());
  }
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

TEST(Server, WrongTypesAndBadAttributes) {
  ServerThread server;
  const std::pair<const char*, NegativeReplyCode> cases[] = {
      {"02 01 0000 00000001", NegativeReplyCode::kWrongBasicType},
      {"01 16 0000 00000001", NegativeReplyCode::kWrongSubType},
      {"01 23 0000 00000001", NegativeReplyCode::kWrongSubType},
      {"01 99 0000 00000001", NegativeReplyCode::kWrongSubType},
      {"01 15 0008 00000001 0005 0004 00000011", NegativeReplyCode::kBadlyFormedRequest},
  };
  RawAgent agent(server.port());
  agent.open();
  for (const auto& [hex, code] : cases) {
    agent.send(hex);
    const auto reply = agent.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->tid.value, 1U);
    EXPECT_TRUE(is_refused(reply->body, code));
  }
  EXPECT_TRUE(std::holds_alternative<PrlReply>(agent.ask(PrlRequest{})));
  const std::pair<const char*, NegativeReplyCode> without_session[] = {
      {"02 01 0000 00000001", NegativeReplyCode::kWrongBasicType},
      {"01 12 0000 00000001", NegativeReplyCode::kWrongSubType},
      {"01 02 0000 00000001", NegativeReplyCode::kWrongSubType},
      {"01 03 0000 00000001", NegativeReplyCode::kWrongSubType},
      {"01 01 0000 00000001", NegativeReplyCode::kBadlyFormedRequest},
  };
  for (const auto& [hex, code] : without_session) {
    RawAgent stranger(server.port());
    stranger.send(hex);
    const auto reply = stranger.receive();
    ASSERT_TRUE(reply);
    EXPECT_TRUE(is_refused(reply->body, code));
    EXPECT_TRUE(stranger.at_end());
  }
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

TEST(Server, EveryTruncationOfEveryMessageLeavesTheOthersUnharmed) {
  ServerThread server;
  RawAgent witness(server.port());
  witness.open();
  for (const auto& figure : test::figure_cases()) {
    const auto octets = test::from_hex(figure.hex);
    for (std::size_t size = 1; size < octets.size(); size += 1 + size / 4) {
      RawAgent agent(server.port());
      agent.open();
      agent.send(std::span(octets).first(size));
      agent.reset();
    }
  }
  EXPECT_TRUE(std::holds_alternative<PrlReply>(witness.ask(PrlRequest{})));
}

TEST(Server, RandomOctetsGetAReplyOrAClose) {
  ServerThread server;
  RawAgent witness(server.port());
  witness.open();
  std::mt19937 random(99);
  for (int i = 0; i < 200; ++i) {
    RawAgent agent(server.port());
    if (i % 2 == 0) agent.open();
    test::Octets noise(random() % 3000 + 1);
    for (auto& octet : noise) octet = static_cast<std::byte>(random());
    if (i % 4 < 2) noise[0] = std::byte{1};  // get past the first check
    agent.send(noise);
    // Noise may be the beginning of a long message, so nothing more must be waited for.
    boost::system::error_code closed;
    agent.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, closed);
    while (agent.receive()) {
    }
  }
  EXPECT_TRUE(std::holds_alternative<PrlReply>(witness.ask(PrlRequest{})));
  EXPECT_TRUE(eventually([&] { return server.connections() == 1; }));
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

// Notifications cannot be held back: a session that does not take them is ended.
TEST(Server, APeerThatDoesNotTakeItsNotificationsIsCutOff) {
  ServerThread server;
  RawAgent deaf(server.port());
  const int small = 4096;
  ::setsockopt(deaf.socket().native_handle(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  deaf.open();
  RawAgent busy(server.port());
  busy.open();
  const auto pid = std::get<PerReply>(busy.ask(pinhole(1, test::kLongLifetimeS))).pid;
  // Replies to `busy` are read and thrown away elsewhere, so that its requests never wait.
  std::thread reader([&] {
    std::array<std::byte, 65536> replies;
    while (::recv(busy.socket().native_handle(), replies.data(), replies.size(), 0) > 0) {
    }
  });
  test::Octets burst;
  for (std::uint32_t tid = 1000; tid < 5000; ++tid) {
    const auto one = test::encoded({{tid}, PlcRequest{pid, {60}}});
    burst.insert(burst.end(), one.begin(), one.end());
  }
  const auto cut_off = [&] { return server.sessions() == 1; };
  for (int round = 0; round < 500 && !cut_off(); ++round) busy.send(burst);
  EXPECT_TRUE(eventually(cut_off));
  // Core.WhoDoesNotReadIsCutOffAndFindsAstBehindItsMessages reads what it has been sent.
  busy.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send);
  reader.join();
  RawAgent another(server.port());
  another.open();
  EXPECT_TRUE(std::holds_alternative<PlcReply>(another.ask(PlcRequest{pid, {60}})));
}

}  // namespace
}  // namespace simco
