// Real packets through a router: what the end of a rule ends, from the first packet after the reply
// to the last before its end, and that nothing is lost until then.
#include <gtest/gtest.h>

#include <boost/asio/use_future.hpp>

#include "tests/integration/router/router.hpp"

namespace simco::test {
namespace {

TEST_P(Router, TrafficEndsWithTheLifetime) {
  using Clock = std::chrono::steady_clock;
  RouterBox box(net.router);
  const auto [host, peer] = udp();
  // What is sent in this time from the request on has to arrive; then we look for the end.
  const auto must_pass = std::chrono::milliseconds(1500);
  const auto asked = Clock::now();
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                     Direction::kBidirectional, 2);
  for (;;) {
    const auto text = peer.send_one({a().host, 5004});
    if (Clock::now() >= asked + must_pass) break;
    EXPECT_TRUE(host.receive_one(text)) << "never shorter than the rule's";
  }
  EXPECT_TRUE(eventually([&] { return host.misses(peer, {a().host, 5004}); }));
}

TEST_P(Router, AKilledMiddleboxLeavesNothingOpen) {
  RouterBox box(net.router);
  const auto [host, peer] = udp();
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                     Direction::kBidirectional, 20);
  box.kill();
  EXPECT_TRUE(host.gets(peer, {a().host, 5004})) << "rules outlive a crash";
  EXPECT_TRUE(eventually([&] { return host.misses(peer, {a().host, 5004}); }))
      << "but not their lifetime";

  RouterBox again(net.router);
  again.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
}

TEST_P(Router, ADisableRuleStopsRunningTraffic) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const auto [host, peer] = udp();
  const Udp host2(net.inside, {a().host2, 5004});
  const TcpListener listener(net.inside, {a().host, 8080});
  agent.enable(at(a().host, 5004), at(a().peer, 6004));
  agent.enable(at(a().host2, 5004), at(a().peer, 6004));
  agent.enable(at(a().host, 8080), at(a().peer, 9090), kProtocolTcp);
  const Tcp client(net.outside, {a().peer, 9090});
  ASSERT_TRUE(client.connect({a().host, 8080}));
  const auto server = listener.accept();
  ASSERT_TRUE(host.gets(peer, {a().host, 5004}) && passes(client, server->first));
  const auto block = agent.disable(a().host, "any", kProtocolAny);
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  EXPECT_FALSE(passes(client, server->first, kStaysAway));
  EXPECT_TRUE(host2.gets(peer, {a().host2, 5004})) << "others go on";
  agent.remove(block.pid);
  EXPECT_TRUE(host.misses(peer, {a().host, 5004})) << "what a PDR has ended stays so";
  agent.enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
}

TEST_P(Router, ADisableRuleBlocksWhatPassesWithoutRules) {
  RouterBox box(net.router, {"--allow-outbound"});
  const auto [host, peer] = udp();
  const Udp peer2(net.outside, {a().peer2, 6004});
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
  EXPECT_TRUE(peer.gets(host, {a().peer, 6004}));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004})) << "an answer";
  EXPECT_TRUE(host.misses(peer2, {a().host, 5004})) << "not an answer";
  const auto block = box.agent().disable(a().host, a().peer, kProtocolUdp);
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
  EXPECT_TRUE(peer2.gets(host, {a().peer2, 6004}));
  box.agent().remove(block.pid);
  EXPECT_TRUE(peer.gets(host, {a().peer, 6004}));
}

TEST_P(Router, NothingStaysInConntrackOfAnEndedRule) {
  net.router.shell(kTheSiteTracks);
  RouterBox box(net.router);
  const auto [host, peer] = udp();
  const auto exact = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  ASSERT_TRUE(host.gets(peer, {a().host, 5004}));
  const auto flows = [&] {
    const auto family = a().host == kV4.host ? "ipv4" : "ipv6";
    return net.router.output("conntrack -L -p udp -f " + std::string(family) + " 2>/dev/null");
  };
  EXPECT_TRUE(flows().contains("dport=5004"));
  box.agent().remove(exact.pid);
  EXPECT_FALSE(flows().contains("dport=5004")) << flows();

  const auto wild =
      box.agent().enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  ASSERT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(flows().contains("dport=5004"));
  box.agent().remove(wild.pid);
  EXPECT_TRUE(eventually([&] { return !flows().contains("dport=5004"); })) << flows();
}

// One of two rules for a connection ends: the connection goes on, in whichever direction is next.
TEST_P(Router, AConnectionThatAnotherRuleAllowsGoesOn) {
  RouterBox box(net.router);
  const auto enable = [&](const std::string& external) {
    return box.agent().enable(at(a().host, 8080), external, kProtocolTcp, Direction::kInbound);
  };
  const auto one = enable(at(a().peer, 9090));
  const auto two = enable(at(a().peer, 9090));
  const auto any = enable("any");
  const TcpListener listener(net.inside, {a().host, 8080});
  const Tcp client(net.outside, {a().peer, 9090});
  ASSERT_TRUE(client.connect({a().host, 8080}));
  const auto server = listener.accept();
  ASSERT_TRUE(server && passes(client, server->first));
  box.agent().remove(one.pid);
  EXPECT_TRUE(passes(server->first, client));
  box.agent().remove(any.pid);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  EXPECT_TRUE(passes(server->first, client));
  box.agent().remove(two.pid);
  EXPECT_FALSE(passes(server->first, client, kStaysAway));
}

// --- Load ----------------------------------------------------------------------------------------

// RTP-like streams both ways lose nothing while other rules come and go and their own are renewed.
TEST_P(Router, StreamsLoseNothingWhileOtherRulesChange) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const auto [host, peer] = udp();
  const auto rule = agent.enable(at(a().host, 5004, 2), at(a().peer, 6004, 2), kProtocolUdp,
                                 Direction::kBidirectional, 600);
  Stream inward(peer, {a().host, 5004}, host);
  Stream outward(host, {a().peer, 6004}, peer);
  std::vector<std::future<agent::EnabledRule>> made;
  for (int i = 0; i < 1000; ++i) {
    made.push_back(agent->enable(BoxAgent::request(at(a().host2, 10000 + i), at(a().peer2, 6000),
                                                   kProtocolUdp, Direction::kBidirectional, 3600),
                                 boost::asio::use_future));
    if (i % 50 == 0) agent.renew(rule.pid, 600 + static_cast<std::uint32_t>(i));
  }
  std::vector<std::future<void>> removed;
  for (auto& future : made) {
    removed.push_back(agent->remove(future.get().pid, boost::asio::use_future));
    if (removed.size() % 50 == 0) agent.renew(rule.pid, 600);
  }
  for (auto& future : removed) future.get();
  for (Stream* stream : {&inward, &outward}) {
    EXPECT_TRUE(eventually([&] { return stream->sent() > 100; }));
    stream->finish();
    EXPECT_EQ(stream->lost(), 0);
  }
}

}  // namespace
}  // namespace simco::test
