// Real packets through a router whose middlebox enforces rules with nftables: the packets that each
// kind of rule lets through.
#include <gtest/gtest.h>

#include "tests/integration/router/router.hpp"

namespace simco::test {
namespace {

/// Low octet of "middlebox configuration failed" (0x034A).
constexpr int kConfigurationFailed = 0x4A;

INSTANTIATE_TEST_SUITE_P(Both, Router, testing::ValuesIn(kRouters),
                         [](const auto& version) { return std::string(version.param); });

// --- Firewall, UDP -------------------------------------------------------------------------------

TEST_P(Router, UdpPassesOnlyWhereARuleLetsIt) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const auto [host, peer] = udp();
  const Udp host_other_port(net.inside, {a().host, 5005});
  const Udp host2(net.inside, {a().host2, 5004});
  const Udp peer_other_port(net.outside, {a().peer, 6005});
  const Udp peer2(net.outside, {a().peer2, 6004});
  const Endpoint internal{a().host, 5004};
  const Endpoint external{a().peer, 6004};
  ASSERT_TRUE(host.misses(peer, internal));
  ASSERT_TRUE(peer.misses(host, external));

  const auto rule = agent.enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_EQ(host.gets(peer, internal), external);
  EXPECT_EQ(peer.gets(host, external), internal);
  EXPECT_TRUE(host.misses(peer_other_port, internal));
  EXPECT_TRUE(host.misses(peer2, internal));
  EXPECT_TRUE(host_other_port.misses(peer, {a().host, 5005}));
  EXPECT_TRUE(host2.misses(peer, {a().host2, 5004}));
  EXPECT_TRUE(peer2.misses(host, {a().peer2, 6004}));
  EXPECT_TRUE(peer_other_port.misses(host, {a().peer, 6005}));
  const TcpListener listener(net.inside, {a().host, 5004});
  EXPECT_FALSE(Tcp(net.outside, {a().peer, 6004}).connect(internal, kStaysAway));

  agent.remove(rule.pid);
  EXPECT_TRUE(host.misses(peer, internal));
  EXPECT_TRUE(peer.misses(host, external));
}

TEST_P(Router, UdpOneWayIsOneWay) {
  RouterBox box(net.router);
  const auto [host, peer] = udp();
  const auto in =
      box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  box.agent().remove(in.pid);
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp, Direction::kOutbound);
  EXPECT_TRUE(peer.gets(host, {a().peer, 6004}));
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
}

TEST_P(Router, PortRangesOfEverySizePassInOrder) {
  RouterBox box(net.router);
  for (const int size : {2, 3, 7, 100}) {
    for (const auto& [internal, external] : {std::pair(5000, 6000), {5001, 6001}, {5000, 6001}}) {
      const auto rule =
          box.agent().enable(at(a().host, internal, size), at(a().peer, external, size));
      const auto pass = [&](int i, int k) {
        const Endpoint to{a().host, static_cast<std::uint16_t>(internal + i)};
        const Endpoint from{a().peer, static_cast<std::uint16_t>(external + k)};
        const Udp host(net.inside, to);
        const Udp peer(net.outside, from);
        return i == k ? host.gets(peer, to).has_value() : !host.misses(peer, to);
      };
      for (const int i : {0, 1, size / 2, size - 1}) EXPECT_TRUE(pass(i, i)) << size << " " << i;
      EXPECT_FALSE(pass(0, 1)) << size;
      EXPECT_FALSE(pass(-1, -2)) << size;
      EXPECT_FALSE(pass(size, size + 1)) << size;
      box.agent().remove(rule.pid);
    }
  }
}

TEST_P(Router, Wildcards) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const auto [host, peer] = udp();
  const Udp host_other_port(net.inside, {a().host, 5005});
  const Udp host2(net.inside, {a().host2, 5004});
  const Udp peer2(net.outside, {a().peer2, 7777});
  const bool ipv4 = a().host == kV4.host;
  const std::string network = ipv4 ? "10.0.0.2/31" : "2001:db8:1::2/127";
  const std::string some = ipv4 ? "192.0.2.2/32" : "2001:db8:2::2/128";

  const auto any = agent.enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(host.gets(peer2, {a().host, 5004}));
  EXPECT_TRUE(host_other_port.misses(peer, {a().host, 5005}));
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  agent.remove(any.pid);
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));

  const auto prefix = agent.enable(ipv4 ? network + ":5004" : "[" + network + "]:5004",
                                   at(a().peer, 6004), kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(host2.gets(peer, {a().host2, 5004}));
  EXPECT_TRUE(host.misses(peer2, {a().host, 5004}));
  agent.remove(prefix.pid);

  const auto all_ports = agent.enable(a().host, some, kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(host_other_port.gets(peer, {a().host, 5005}));
  EXPECT_TRUE(host2.misses(peer, {a().host2, 5004}));
  agent.remove(all_ports.pid);

  const auto everything = agent.enable("any", some, kProtocolAny, Direction::kInbound);
  EXPECT_TRUE(host2.gets(peer, {a().host2, 5004}));
  EXPECT_TRUE(host.misses(peer2, {a().host, 5004}));
  agent.remove(everything.pid);
  EXPECT_TRUE(host2.misses(peer, {a().host2, 5004}));
}

TEST_P(Router, LargeRangesOfOneSideAreIntervals) {
  RouterBox box(net.router);
  const auto rule =
      box.agent().enable(at(a().host, 20000, 20000), a().peer, kProtocolUdp, Direction::kInbound);
  const Udp peer(net.outside, {a().peer, 6004});
  const Udp peer2(net.outside, {a().peer2, 6004});
  for (const std::uint16_t port : {20000, 30001, 39999}) {
    const Udp host(net.inside, {a().host, port});
    EXPECT_TRUE(host.gets(peer, {a().host, port})) << port;
    EXPECT_TRUE(host.misses(peer2, {a().host, port})) << port;
  }
  for (const std::uint16_t port : {19999, 40000}) {
    const Udp host(net.inside, {a().host, port});
    EXPECT_TRUE(host.misses(peer, {a().host, port})) << port;
  }
  box.agent().renew(rule.pid, 100);
  {
    const Udp host(net.inside, {a().host, 20000});
    EXPECT_TRUE(host.gets(peer, {a().host, 20000}));
    box.agent().remove(rule.pid);
    EXPECT_TRUE(host.misses(peer, {a().host, 20000}));
  }
  // Rules that cannot be enforced are refused: pairs of ports that no set can hold.
  EXPECT_EQ(
      box.agent().refusal(BoxAgent::request(at(a().host, 20000, 20000), at(a().peer, 20000, 20000),
                                            kProtocolUdp, Direction::kBidirectional)),
      kConfigurationFailed);
}

TEST_P(Router, MoreShapesThanThereAreSets) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const Udp host(net.inside, {a().host, 5004});
  const bool ipv4 = a().host == kV4.host;
  std::vector<PolicyRuleId> pids;
  // Each prefix length is a shape of its own; those that find no set go into the interval set.
  const Udp peer(net.outside, {a().peer, 6004});
  for (int i = 0; i < 24; ++i) {
    const auto network =
        ipv4 ? "198.18.0.0/" + std::to_string(15 + i % 18) : "fd00::/" + std::to_string(40 + i);
    const auto port = std::to_string(1000 + i);
    pids.push_back(agent
                       .enable(at(a().host, 4000 + i),
                               ipv4 ? network + ":" + port : "[" + network + "]:" + port,
                               kProtocolUdp, Direction::kInbound)
                       .pid);
  }
  EXPECT_TRUE(net.router.output("nft list table inet simco").contains("-intervals"));
  const auto rule = agent.enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  agent.remove(rule.pid);
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
  for (const auto pid : pids) agent.remove(pid);
  EXPECT_FALSE(net.router.output("nft list table inet simco").contains("pid "));
}

TEST_P(Router, RulesThatAreAlikeEndOneByOne) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const auto [host, peer] = udp();
  const auto one = agent.enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                                Direction::kBidirectional, 1);
  const auto two = agent.enable(at(a().host, 5004), at(a().peer, 6004));
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004})) << "the one with the longer lifetime holds it";
  const auto three = agent.enable(at(a().host, 5004), at(a().peer, 6004));
  agent.remove(two.pid);
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  agent.remove(three.pid);
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
  EXPECT_NE(one.pid, two.pid);
}

// --- Firewall, TCP -------------------------------------------------------------------------------

TEST_P(Router, TcpBeginsOnlyWhereTheRuleSays) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const auto in =
      agent.enable(at(a().host, 8080), at(a().peer, 9090), kProtocolTcp, Direction::kInbound);
  {
    const Tcp out(net.inside, {a().host, 8080});
    EXPECT_FALSE(out.connect({a().peer, 9090}, kStaysAway));
  }
  {
    const TcpListener host(net.inside, {a().host, 8080});
    const Tcp client(net.outside, {a().peer, 9090});
    ASSERT_TRUE(client.connect({a().host, 8080}));
    const auto server = host.accept();
    ASSERT_TRUE(server);
    EXPECT_TRUE(passes(client, server->first));
    EXPECT_TRUE(passes(server->first, client)) << "replies are allowed";
    agent.remove(in.pid);
    EXPECT_FALSE(passes(client, server->first, kStaysAway)) << "its traffic ends with the rule";
    EXPECT_FALSE(passes(server->first, client, kStaysAway));
  }
  agent.enable(at(a().host, 8081), at(a().peer, 9090), kProtocolTcp, Direction::kOutbound);
  const TcpListener peer(net.outside, {a().peer, 9090});
  const Tcp client(net.inside, {a().host, 8081});
  ASSERT_TRUE(client.connect({a().peer, 9090}));
  const auto server = peer.accept();
  ASSERT_TRUE(server);
  EXPECT_TRUE(passes(server->first, client));
}

TEST_P(Router, TcpBothWays) {
  RouterBox box(net.router);
  box.agent().enable(at(a().host, 8080), at(a().peer, 9090), kProtocolTcp);
  {
    const TcpListener host(net.inside, {a().host, 8080});
    EXPECT_TRUE(Tcp(net.outside, {a().peer, 9090}).connect({a().host, 8080}));
  }
  const TcpListener peer(net.outside, {a().peer, 9090});
  EXPECT_TRUE(Tcp(net.inside, {a().host, 8080}).connect({a().peer, 9090}));
}

TEST_P(Router, AnInternalClientToAnyWebServer) {
  RouterBox box(net.router);
  const bool ipv4 = a().host == kV4.host;
  box.agent().enable(ipv4 ? "10.0.0.0/24" : "2001:db8:1::/64", "any:80", kProtocolTcp,
                     Direction::kOutbound);
  {
    const TcpListener web(net.outside, {a().peer2, 80});
    const Tcp client(net.inside, {a().host2, 0});
    ASSERT_TRUE(client.connect({a().peer2, 80}));
    const auto server = web.accept();
    ASSERT_TRUE(server && passes(server->first, client));
  }
  // From the web server's port, but not part of a connection from inside.
  const TcpListener host(net.inside, {a().host, 7000});
  EXPECT_FALSE(Tcp(net.outside, {a().peer2, 80}).connect({a().host, 7000}, kStaysAway));
}

}  // namespace
}  // namespace simco::test
