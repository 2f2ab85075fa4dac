// High availability: two routers that share addresses by VRRP (keepalived) and rules by Redis. The
// first is killed under traffic; the second goes on with its rules.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/use_future.hpp>

#include "agent/pinhole.hpp"
#include "middlebox/store/limits.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/pair.hpp"
#include "tests/support/router_box.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using boost::asio::use_future;

/// A loop for agents on a host, on a thread of its own. It outlives the agents.
class Loop {
 public:
  explicit Loop(const NetworkNamespace& host)
      : thread_([this, &host] { host.run([this] { io_.run(); }); }) {}
  ~Loop() {
    io_.stop();
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  boost::asio::any_io_executor executor() { return io_.get_executor(); }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::thread thread_;
};

/// Until a connection over QUIC is over because nothing comes: longer than any test.
constexpr std::chrono::milliseconds kNever = 1h;

class Takeover : public testing::Test {
 protected:
  /// Of the middleboxes.
  Words options() const {
#ifdef SIMCO_QUIC
    return Pair::kNat + Words{"--transport",
                              "tcp,quic",
                              "--quic-idle-timeout",
                              std::to_string(kNever.count()),
                              "--tls-certificate",
                              box_files.certificate,
                              "--tls-key",
                              box_files.key,
                              "--tls-ca",
                              box_files.authority};
#else
    return Pair::kNat;
#endif
  }
  void boot() {
    ASSERT_TRUE(pair.boot()) << first.said() << second.said();
    EXPECT_FALSE(second.serves());
  }
  /// A session with the box that has the address.
  static std::unique_ptr<agent::Agent> open_session(Loop& loop,
                                                    const agent::AgentOptions& options = {}) {
    auto agent = std::make_unique<agent::Agent>(loop.executor(), options);
    agent->open({"192.0.2.1", 7626}, use_future).get();
    return agent;
  }
  /// A request for a rule between these two ports.
  static PerRequest between(std::uint16_t inside_port, std::uint16_t outside_port) {
    return BoxAgent::request("10.0.0.2:" + std::to_string(inside_port),
                             "192.0.2.2:" + std::to_string(outside_port), kProtocolUdp,
                             Direction::kBidirectional, 600);
  }
  static std::vector<PolicyRuleId> rules(agent::Agent& agent) {
    return agent.list(use_future).get();
  }

  const Folder folder{"takeover"};
  const Authority authority;
  const net::TlsFiles box_files = authority.issue("box", "IP:192.0.2.1");
  // A busy machine must not pass for a dead one: three seconds without a word.
  Pair pair{folder.path, "1", options()};
  PairBox& first = pair.first;
  PairBox& second = pair.second;
  NetworkNamespace& inside = pair.inside;
  NetworkNamespace& outside = pair.outside;
};

TEST_F(Takeover, TheOtherBoxGoesOnWithTheRules) {
  boot();
  Loop loop(outside);
  const Udp host(inside, {"10.0.0.2", 5004});
  const Udp peer(outside, {"192.0.2.2", 6004});
  auto agent = open_session(loop);
  const auto rule = agent->enable(between(5004, 6004), use_future).get();
  const auto other = agent->enable(between(5006, 6006), use_future).get();
  const auto outside_end = endpoint_of(rule.outside);
  ASSERT_TRUE(host.gets(peer, outside_end));
  // The other box lets the packets pass before it has the addresses.
  const auto gone = agent->enable(between(5010, 6010), use_future).get();
  ASSERT_TRUE(eventually([&] { return second.enforces(5006) && second.enforces(5010); }));
  agent->remove(gone.pid, use_future).get();
  ASSERT_TRUE(eventually([&] { return !second.enforces(5010); }));
  EXPECT_FALSE(second.serves());

  first.die();
  // With packets all the while.
  EXPECT_TRUE(eventually([&] { return !host.misses(peer, outside_end) && second.serves(); }))
      << second.said();
  // And back, from the same address and port.
  EXPECT_EQ(peer.gets(host, {"192.0.2.2", 6004}), outside_end);

  agent.reset();
  agent = open_session(loop);
  EXPECT_EQ(rules(*agent), (std::vector{rule.pid, other.pid}));
  agent->remove(other.pid, use_future).get();
  const auto third = agent->enable(between(5008, 6008), use_future).get();
  EXPECT_GT(third.pid, gone.pid);

  // The first box comes back, as the one that waits; then the second is gone.
  first.boot();
  ASSERT_TRUE(eventually([&] { return first.follows(); })) << first.said();
  EXPECT_FALSE(first.serves());
  EXPECT_TRUE(second.serves());
  ASSERT_TRUE(eventually([&] { return first.redis("hlen simco:rules") == "2\n"; }));
  agent.reset();
  second.die();
  ASSERT_TRUE(eventually([&] { return first.serves(); })) << first.said();
  EXPECT_TRUE(eventually([&] { return !host.misses(peer, outside_end); }));
  agent = open_session(loop);
  EXPECT_EQ(rules(*agent), (std::vector{rule.pid, third.pid}));
}

#ifdef SIMCO_QUIC
// The first box cannot say that it is gone. The other one has the same key, so the agent believes
// it that the connection is over, opens its session again and finds its pinhole.
TEST_F(Takeover, AnAgentOverQuicComesToTheOtherBox) {
  boot();
  std::atomic<int> lost = 0;
  std::atomic<int> found = 0;
  agent::AgentOptions options;
  options.transport.transport = net::Transport::kQuic;
  options.transport.settings.quic.idle_timeout = kNever;
  options.transport.settings.quic.keep_alive = 200ms;
  options.transport.tls = load_tls(net::TlsSide::kAgent, authority.issue("proxy1"));
  options.reconnect.emplace();
  options.reconnect->on_change = [&](const boost::system::error_code& why) {
    ++(why ? lost : found);
  };
  Loop loop(outside);
  const Udp host(inside, {"10.0.0.2", 5004});
  const Udp peer(outside, {"192.0.2.2", 6004});
  const auto agent = open_session(loop, options);
  auto pinhole = agent::Pinhole::open(*agent, between(5004, 6004), use_future).get();
  const auto outside_end = endpoint_of(pinhole.rule().outside);
  ASSERT_TRUE(host.gets(peer, outside_end));
  ASSERT_TRUE(eventually([&] { return second.redis("hlen simco:rules") == "1\n"; }));
  EXPECT_EQ(lost, 0);
  first.die();
  EXPECT_TRUE(eventually([&] { return found > 0; })) << lost << " " << second.said();
  EXPECT_TRUE(eventually([&] { return second.serves(); }));
  EXPECT_EQ(rules(*agent), std::vector{pinhole.rule().pid});
  EXPECT_TRUE(eventually([&] { return !host.misses(peer, outside_end); }));
  pinhole.close(use_future).get();
  EXPECT_TRUE(rules(*agent).empty());
}
#endif

// As TCP needs it where a rule has a direction, or where a NAT has chosen the ports.
TEST(TakeoverConnections, GoOnThroughTheOtherBox) {
  const Folder folder("connections");
  Pair pair(folder.path, "1", {"--allow-outbound"});
  ASSERT_TRUE(pair.boot()) << pair.first.said() << pair.second.said();
  pair.first.copy_connections();
  pair.second.copy_connections();
  const Udp peer(pair.outside, {"192.0.2.2", 7001});
  std::optional<Udp> host;
  std::uint16_t port = 7000;
  const auto answer_stays_away = [&] { return host->misses(peer, {"10.0.0.2", port}); };
  // The two need a moment until they know each other.
  ASSERT_TRUE(eventually([&] {
    host.emplace(pair.inside, Endpoint{"10.0.0.2", ++port});
    EXPECT_TRUE(answer_stays_away());
    EXPECT_TRUE(peer.gets(*host, {"192.0.2.2", 7001}));
    EXPECT_TRUE(host->gets(peer, {"10.0.0.2", port}));
    return pair.second.host.output("conntrack --dump").contains(" sport=" + std::to_string(port));
  }));
  pair.first.die();
  // Nothing from inside tells the second box of it.
  EXPECT_TRUE(eventually([&] { return !answer_stays_away(); })) << pair.second.said();
}

/// Packets between .2 and .2 go through the first box, those between .3 and .3 through the second.
class BothBoxes : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(pair.boot()) << pair.first.said() << pair.second.said();
    agent.open({"192.0.2.1", 7626}, use_future).get();
    ASSERT_TRUE(eventually([&] { return pair.second.said().contains("packets pass here"); }));
  }
  auto enable(int path, std::uint16_t port) {
    const auto end = std::to_string(path) + ":" + std::to_string(port);
    return agent
        .enable(BoxAgent::request("10.0.0." + end, "192.0.2." + end, kProtocolUdp,
                                  Direction::kBidirectional, 600),
                use_future)
        .get();
  }
  /// The second box lets packets of these ports pass, in both directions.
  bool second_passes(std::uint16_t port) const {
    const Udp host(pair.inside, {"10.0.0.3", port});
    const Udp peer(pair.outside, {"192.0.2.3", port});
    return host.gets(peer, {"10.0.0.3", port}) && peer.gets(host, {"192.0.2.3", port});
  }
  /// A machine that is slow enough may cost the second box its lease, of which it tells.
  bool second_has_closed() const {
    const auto said = pair.second.said();
    return said.find("no packet passes here", said.find("packets pass here")) != said.npos;
  }
  bool second_blocks(std::uint16_t port) const {
    const Udp host(pair.inside, {"10.0.0.3", port});
    const Udp peer(pair.outside, {"192.0.2.3", port});
    return host.misses(peer, {"10.0.0.3", port}) && peer.misses(host, {"192.0.2.3", port});
  }

  const Folder folder{"both"};
  Pair pair{folder.path, "1", {}};
  Loop loop{pair.outside};
  agent::Agent agent{loop.executor(), {}};
};

TEST_F(BothBoxes, DoAsTheReplySays) {
  for (std::uint16_t port = 5000; port < 5010; ++port) {
    const auto rule = enable(3, port);
    EXPECT_TRUE(second_passes(port) || second_has_closed()) << port;
    agent.remove(rule.pid, use_future).get();
    EXPECT_TRUE(second_blocks(port)) << port;
  }
}

// It may lack any change from then on.
TEST_F(BothBoxes, TheOneThatIsCutOffCloses) {
  const auto rule = enable(3, 5000);
  enable(3, 5002);
  enable(2, 5004);
  pair.second.host.shell("ip link set sync0 down");
  agent.remove(rule.pid, use_future).get();
  EXPECT_TRUE(second_blocks(5000));
  EXPECT_TRUE(second_blocks(5002));
  const Udp host(pair.inside, {"10.0.0.2", 5004});
  const Udp peer(pair.outside, {"192.0.2.2", 5004});
  EXPECT_TRUE(host.gets(peer, {"10.0.0.2", 5004}));
  EXPECT_TRUE(eventually([&] { return pair.first.said().contains("has not confirmed a change"); }));
  EXPECT_TRUE(eventually([&] { return second_has_closed(); }));
  pair.second.host.shell("ip link set sync0 up");
  EXPECT_TRUE(eventually([&] { return !second_blocks(5002); })) << pair.second.said();
  EXPECT_TRUE(second_blocks(5000));
}

// The rules of the second box end elsewhere from then on.
TEST_F(BothBoxes, TheOneThatLosesItsPlaceClosesThoughItsRedisStandsStill) {
  enable(2, 5000);
  const Udp host(pair.inside, {"10.0.0.2", 5000});
  const Udp peer(pair.outside, {"192.0.2.2", 5000});
  EXPECT_TRUE(host.gets(peer, {"10.0.0.2", 5000}));
  pair.first.lose_place_without_redis();
  EXPECT_TRUE(eventually([&] { return host.misses(peer, {"10.0.0.2", 5000}); }));
}

// For as long as an upgrade of the first takes.
TEST_F(BothBoxes, TheSecondGoesOnWithoutTheFirstMiddlebox) {
  enable(3, 5000);
  // A machine that is slow enough may cost it its lease until the first is back.
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(eventually([&] { return !second_blocks(5000); })) << pair.second.said();
    pair.first.stop_middlebox();
    std::this_thread::sleep_for(2 * store::kLease);
    const bool goes_on = !second_blocks(5000);
    pair.first.start_middlebox();
    EXPECT_TRUE(eventually([&] { return pair.first.serves(); }));
    return goes_on;
  }));
  EXPECT_TRUE(eventually([&] { return !second_blocks(5000); })) << pair.second.said();
}

TEST_F(BothBoxes, TheOneThatStandsStillCloses) {
  const auto rule = enable(3, 5000);
  pair.second.signal(SIGSTOP);
  agent.remove(rule.pid, use_future).get();
  EXPECT_TRUE(second_blocks(5000));
  pair.second.signal(SIGCONT);
  enable(3, 5002);
  EXPECT_TRUE(eventually([&] { return !second_blocks(5002); })) << pair.second.said();
}

}  // namespace
}  // namespace simco::test
