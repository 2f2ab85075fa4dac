// Real packets through a router whose middlebox enforces rules with nftables: what each kind of
// rule lets through, from the first packet after the reply to the last before its end.
#include <gtest/gtest.h>

#include "tests/support/router_box.hpp"
#include "tests/support/stream.hpp"

namespace simco::test {
namespace {

/// Low octet of "middlebox configuration failed" (0x034A).
constexpr int kConfigurationFailed = 0x4A;

/// The addresses of one IP version.
struct Addresses {
  std::string host;     ///< internal host
  std::string host2;    ///< its other address
  std::string peer;     ///< external host
  std::string peer2;    ///< another external host
  std::string pool;     ///< of a NAT, routed to the router
  std::string in_pool;  ///< of a twice NAT
};
const Addresses kV4{"10.0.0.2", "10.0.0.3", "192.0.2.2", "192.0.2.3", "198.51.100.1", "10.9.0.1"};
const Addresses kV6{"2001:db8:1::2", "2001:db8:1::3", "2001:db8:2::2",
                    "2001:db8:2::3", "2001:db8:5::1", "2001:db8:9::1"};

std::string at(const std::string& address, int port, int range = 1) {
  const auto host = address.find(':') == std::string::npos ? address : "[" + address + "]";
  return host + ":" + std::to_string(port) + (range == 1 ? "" : "/" + std::to_string(range));
}

/// Runs for each IP version.
class Router : public testing::TestWithParam<const char*> {
 protected:
  const Addresses& a() const { return std::string(GetParam()) == "IPv4" ? kV4 : kV6; }
  std::vector<std::string> nat(const std::string& ports = "30000-30999") const {
    return {"--mode", "nat", "--outside", a().pool, "--ports", ports};
  }
  /// What the host sends to the peer leads to an ICMP error that reaches it.
  bool nobody_listens() const {
    const Udp host(net.inside, {a().host, 5004});
    const auto raw = Endpoint{a().peer, 6004}.raw();
    return ::connect(host.descriptor(), reinterpret_cast<const sockaddr*>(&raw),
                     Socket::size_of(raw)) == 0 &&
           ::send(host.descriptor(), "x", 1, 0) == 1 && host.error() == ECONNREFUSED;
  }
  Network net;
};
INSTANTIATE_TEST_SUITE_P(Both, Router, testing::Values("IPv4", "IPv6"),
                         [](const auto& version) { return std::string(version.param); });

// --- Firewall, UDP -------------------------------------------------------------------------------

TEST_P(Router, UdpPassesOnlyWhereARuleLetsIt) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const Udp host(net.inside, {a().host, 5004});
  const Udp host_other_port(net.inside, {a().host, 5005});
  const Udp host2(net.inside, {a().host2, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
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
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  const auto in =
      box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  box.agent().remove(in.pid);
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp, Direction::kOutbound);
  EXPECT_TRUE(peer.gets(host, {a().peer, 6004}));
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
}

TEST_P(Router, PortPairsPassInOrder) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const Udp rtp(net.inside, {a().host, 5004});
  const Udp rtcp(net.inside, {a().host, 5005});
  const Udp peer_rtp(net.outside, {a().peer, 6004});
  const Udp peer_rtcp(net.outside, {a().peer, 6005});
  const auto rule = agent.enable(at(a().host, 5004, 2), at(a().peer, 6004, 2));
  // The n-th port goes with the n-th: one element in the kernel, and yet no other pairing passes.
  EXPECT_TRUE(rtp.gets(peer_rtp, {a().host, 5004}));
  EXPECT_TRUE(rtcp.gets(peer_rtcp, {a().host, 5005}));
  EXPECT_TRUE(peer_rtcp.gets(rtcp, {a().peer, 6005}));
  EXPECT_TRUE(rtp.misses(peer_rtcp, {a().host, 5004}));
  EXPECT_TRUE(peer_rtp.misses(rtcp, {a().peer, 6004}));
  agent.remove(rule.pid);
  EXPECT_TRUE(rtp.misses(peer_rtp, {a().host, 5004}));
  EXPECT_TRUE(rtcp.misses(peer_rtcp, {a().host, 5005}));
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
  const Udp host(net.inside, {a().host, 5004});
  const Udp host_other_port(net.inside, {a().host, 5005});
  const Udp host2(net.inside, {a().host2, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
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
  // What cannot be enforced is refused: pairs of ports that no set can hold.
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
  EXPECT_NE(net.router.output("nft list table inet simco").find("-intervals"), std::string::npos);
  const auto rule = agent.enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  agent.remove(rule.pid);
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
  for (const auto pid : pids) agent.remove(pid);
  EXPECT_EQ(net.router.output("nft list table inet simco").find("pid "), std::string::npos);
}

TEST_P(Router, RulesThatAreAlikeEndOneByOne) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
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

// --- The end of rules ----------------------------------------------------------------------------

TEST_P(Router, TrafficEndsWithTheLifetime) {
  using Clock = std::chrono::steady_clock;
  RouterBox box(net.router);
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  // What is sent in this time from the request on has to arrive; then we look for the end.
  const auto must_pass = std::chrono::milliseconds(900);
  const auto asked = Clock::now();
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                     Direction::kBidirectional, 1);
  for (;;) {
    const auto text = peer.send_one({a().host, 5004});
    if (Clock::now() >= asked + must_pass) break;
    EXPECT_TRUE(host.receive_one(text)) << "never shorter than the rule's";
  }
  EXPECT_TRUE(eventually([&] { return host.misses(peer, {a().host, 5004}); }));
}

TEST_P(Router, AKilledMiddleboxLeavesNothingOpen) {
  RouterBox box(net.router);
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                     Direction::kBidirectional, 10);
  box.kill();
  EXPECT_TRUE(host.gets(peer, {a().host, 5004})) << "rules outlive a crash";
  EXPECT_TRUE(eventually([&] { return host.misses(peer, {a().host, 5004}); }))
      << "but not their lifetime";

  RouterBox again(net.router);
  again.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
}

TEST_P(Router, ARestartClosesWhatItDoesNotKnow) {
  RouterBox box(net.router);
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  box.kill();
  RouterBox again(net.router);
  again.agent();
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
}

TEST_P(Router, ADisableRuleStopsRunningTraffic) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const Udp host(net.inside, {a().host, 5004});
  const Udp host2(net.inside, {a().host2, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
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
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
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
  RouterBox box(net.router);
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  const auto exact = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  ASSERT_TRUE(host.gets(peer, {a().host, 5004}));
  const auto flows = [&] {
    const auto family = a().host == kV4.host ? "ipv4" : "ipv6";
    return net.router.output("conntrack -L -p udp -f " + std::string(family) + " 2>/dev/null");
  };
  EXPECT_NE(flows().find("dport=5004"), std::string::npos);
  box.agent().remove(exact.pid);
  EXPECT_EQ(flows().find("dport=5004"), std::string::npos) << flows();

  const auto wild =
      box.agent().enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  ASSERT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_NE(flows().find("dport=5004"), std::string::npos);
  box.agent().remove(wild.pid);
  EXPECT_TRUE(eventually([&] { return flows().find("dport=5004") == std::string::npos; }))
      << flows();
}

TEST_P(Router, IcmpErrorsComeBack) {
  RouterBox box(net.router);
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(nobody_listens());
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

// --- NAT -----------------------------------------------------------------------------------------

TEST_P(Router, NatTranslatesBothWays) {
  RouterBox box(net.router, nat());
  auto& agent = box.agent();
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  const Udp peer2(net.outside, {a().peer2, 6004});
  ASSERT_TRUE(host.misses(peer, {a().host, 5004}));
  ASSERT_TRUE(host.misses(peer, {a().pool, 30000}));
  const auto rule = agent.enable(at(a().host, 5004), at(a().peer, 6004));
  const auto bound = endpoint_of(rule.outside);
  EXPECT_EQ(bound.address, a().pool);
  EXPECT_EQ(host.gets(peer, bound), (Endpoint{a().peer, 6004})) << "a flow that begins outside";
  EXPECT_EQ(peer.gets(host, {a().peer, 6004}), bound) << "and its answer";
  EXPECT_TRUE(host.misses(peer2, bound));
  EXPECT_TRUE(host.misses(peer, {a().host, 5004})) << "nobody talks to the host by its own address";
  agent.remove(rule.pid);
  EXPECT_TRUE(host.misses(peer, bound));
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  // The other way round: the first packet comes from inside.
  const auto again = agent.enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_EQ(peer.gets(host, {a().peer, 6004}), endpoint_of(again.outside));
  EXPECT_EQ(host.gets(peer, endpoint_of(again.outside)), (Endpoint{a().peer, 6004}));
}

TEST_P(Router, NatPortsAreConsecutiveAndKeepTheirParity) {
  RouterBox box(net.router, nat("30001-30999"));
  auto request = BoxAgent::request(at(a().host, 5004, 2), at(a().peer, 6004, 2), kProtocolUdp,
                                   Direction::kBidirectional);
  request.parameters.parity = PortParity::kSame;
  const auto rule = box.agent().enable(request);
  EXPECT_EQ(rule.outside.port % 2, 0);
  for (const std::uint16_t i : {0, 1}) {
    const auto port = [i](int first) { return static_cast<std::uint16_t>(first + i); };
    const Udp host(net.inside, {a().host, port(5004)});
    const Udp peer(net.outside, {a().peer, port(6004)});
    EXPECT_EQ(host.gets(peer, endpoint_of(rule.outside, i)), (Endpoint{a().peer, port(6004)}));
    EXPECT_EQ(peer.gets(host, {a().peer, port(6004)}), endpoint_of(rule.outside, i));
  }
}

// A packet to a port that is not bound yet would go back where it came from, and its flow would
// never be translated.
TEST_P(Router, NatPoolThatIsRoutedToTheRouter) {
  const bool ipv4 = a().host == kV4.host;
  net.router.shell(ipv4 ? "ip route add default via 192.0.2.2"
                        : "ip -6 route add default via 2001:db8:2::2");
  const std::string pool = ipv4 ? "198.51.100.1/32" : "2001:db8:5::1/128";
  net.outside.shell((ipv4 ? "ip addr add " : "ip -6 addr add ") + pool + " dev eth0");
  RouterBox box(net.router, nat("30000-30009"));
  // Whoever sends to the pool here sends it through the router, and would see it come back.
  const Udp peer(net.outside, {a().peer, 6004});
  net.outside.shell((ipv4 ? "ip addr del " : "ip -6 addr del ") + pool + " dev eth0");
  const Udp host(net.inside, {a().host, 5004});
  for (std::uint16_t port = 30000; port < 30010; ++port) peer.send({a().pool, port}, "early");
  EXPECT_EQ(net.router.output("conntrack -L -p udp 2>/dev/null | grep -c 'dport=3000'"), "0\n");
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, endpoint_of(rule.outside)));
  const auto any = box.agent().enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(peer, endpoint_of(any.outside)));
}

TEST_P(Router, ForgedInternalSources) {
  const bool ipv4 = a().host == kV4.host;
  net.router.shell(
      "for i in all ext0 int0; do echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; done");
  const std::string forged = ipv4 ? "10.0.0.77" : "2001:db8:1::77";
  net.outside.shell("ip addr add " + forged + (ipv4 ? "/32" : "/128") + " dev lo");
  RouterBox box(net.router);
  const Udp host(net.inside, {a().host, 5004});
  const Udp liar(net.outside, {forged, 6004});
  const Udp peer(net.outside, {a().peer, 6004});
  box.agent().enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(host.misses(liar, {a().host, 5004}));
  // Whoever asks for that very host has it.
  box.agent().enable(at(a().host, 5004), at(forged, 6004), kProtocolUdp, Direction::kInbound);
  EXPECT_FALSE(host.misses(liar, {a().host, 5004}));
}

TEST_P(Router, NatOneWayAndWithAnUnknownPeer) {
  RouterBox box(net.router, nat("30000-30000"));
  auto& agent = box.agent();
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  const Udp peer2(net.outside, {a().peer2, 7777});
  const auto in = agent.enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  const auto bound = endpoint_of(in.outside);
  EXPECT_TRUE(host.gets(peer, bound));
  EXPECT_TRUE(host.gets(peer2, bound));
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  agent.remove(in.pid);
  // The ports go to another host, and with them what the same peer sends.
  const Udp host2(net.inside, {a().host2, 5004});
  const auto other = agent.enable(at(a().host2, 5004), "any", kProtocolUdp, Direction::kInbound);
  ASSERT_EQ(endpoint_of(other.outside), bound);
  // As soon as its old flow has been found.
  bool arrived = false;
  for (int i = 0; i < 500 && !arrived; ++i) arrived = !host2.misses(peer, bound);
  EXPECT_TRUE(arrived);
  EXPECT_TRUE(host.misses(peer2, {a().host, 5004}));
  agent.remove(other.pid);
  const auto out =
      agent.enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp, Direction::kOutbound);
  EXPECT_EQ(peer.gets(host, {a().peer, 6004}), endpoint_of(out.outside));
  EXPECT_TRUE(host.misses(peer, endpoint_of(out.outside)));
}

TEST_P(Router, NatTcpBothWays) {
  RouterBox box(net.router, nat());
  const auto in = box.agent().enable(at(a().host, 8080), "any", kProtocolTcp, Direction::kInbound);
  const TcpListener host(net.inside, {a().host, 8080});
  const Tcp client(net.outside, {a().peer, 0});
  ASSERT_TRUE(client.connect(endpoint_of(in.outside)));
  const auto server = host.accept();
  ASSERT_TRUE(server && passes(server->first, client) && passes(client, server->first));

  const auto out = box.agent().enable(at(a().host, 8081), at(a().peer, 9090), kProtocolTcp,
                                      Direction::kOutbound);
  const TcpListener peer(net.outside, {a().peer, 9090});
  const Tcp outgoing(net.inside, {a().host, 8081});
  ASSERT_TRUE(outgoing.connect({a().peer, 9090}));
  const auto accepted = peer.accept();
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->second, endpoint_of(out.outside));
  box.agent().remove(out.pid);
  EXPECT_FALSE(passes(outgoing, accepted->first, kStaysAway));
}

TEST_P(Router, ReservedBindingsPassNothing) {
  RouterBox box(net.router, nat());
  PrrRequest reserve;
  reserve.parameters.protocol = kProtocolUdp;
  reserve.parameters.port_range = 1;
  reserve.parameters.nat_mode = NatMode::kTraditional;
  reserve.parameters.inside_version = reserve.parameters.outside_version =
      a().host == kV4.host ? RequestedIpVersion::kIpv4 : RequestedIpVersion::kIpv6;
  reserve.lifetime = {60};
  const auto held = box.agent()->reserve(reserve, boost::asio::use_future).get();
  const auto bound = endpoint_of(held.outside);
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  EXPECT_TRUE(host.misses(peer, bound));
  PeaRequest enable;
  const auto per = BoxAgent::request(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                                     Direction::kBidirectional);
  enable.pid = held.pid;
  enable.internal = per.internal;
  enable.external = per.external;
  enable.parameters = per.parameters;
  enable.lifetime = per.lifetime;
  const auto rule = box.agent()->enable_reserved(enable, boost::asio::use_future).get();
  EXPECT_EQ(endpoint_of(rule.outside), bound);
  EXPECT_TRUE(host.gets(peer, bound));
}

TEST_P(Router, NatIcmpErrorsAreTranslated) {
  RouterBox box(net.router, nat());
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(nobody_listens());
}

// The router's own address as pool: what arrives before the rule must not spoil what comes after.
TEST_P(Router, NatOnTheRoutersOwnAddress) {
  const bool ipv4 = a().host == kV4.host;
  const std::string own = ipv4 ? "192.0.2.1" : "2001:db8:2::1";
  RouterBox box(net.router, {"--mode", "nat", "--outside", own, "--ports", "30000-30999"});
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  for (std::uint16_t port = 30000; port < 30010; ++port) peer.send({own, port});
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, endpoint_of(rule.outside)));
}

TEST_P(Router, TwiceNatHidesBothSides) {
  RouterBox box(net.router, {"--mode", "twice-nat", "--outside", a().pool, "--inside", a().in_pool,
                             "--ports", "30000-30999"});
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  const auto outside = endpoint_of(rule.outside);
  const auto inside = endpoint_of(*rule.inside);
  // First of all, while no flow is known that it could belong to.
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004})) << "the host must use the inside address";
  EXPECT_EQ(host.gets(peer, outside), inside);
  EXPECT_EQ(peer.gets(host, inside), outside);
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004})) << "the host must use the inside address";
  box.agent().remove(rule.pid);
  EXPECT_TRUE(host.misses(peer, outside));
  EXPECT_TRUE(peer.misses(host, inside));
  // And begun inside.
  const auto again = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_EQ(peer.gets(host, endpoint_of(*again.inside)), endpoint_of(again.outside));
}

// doc/rfc4540.md, reading 31: the kernel has one element for both, as long as one of them lives.
TEST_P(Router, RulesForOneEndpointShareItsBinding) {
  RouterBox box(net.router, nat());
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
  const Udp peer2(net.outside, {a().peer2, 6004});
  const auto one = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  const auto like = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  const auto other = box.agent().enable(at(a().host, 5004), at(a().peer2, 6004));
  const auto outside = endpoint_of(one.outside);
  EXPECT_EQ(endpoint_of(like.outside), outside);
  EXPECT_EQ(endpoint_of(other.outside), outside);
  EXPECT_EQ(peer.gets(host, {a().peer, 6004}), outside);
  EXPECT_EQ(peer2.gets(host, {a().peer2, 6004}), outside);
  box.agent().remove(one.pid);
  EXPECT_EQ(peer.gets(host, {a().peer, 6004}), outside);
  EXPECT_TRUE(host.gets(peer, outside));
  box.agent().remove(like.pid);
  EXPECT_TRUE(host.misses(peer, outside));
  EXPECT_TRUE(host.gets(peer2, outside));
}

TEST_P(Router, TwoWaysToTranslateTheSamePacketsAreRefused) {
  RouterBox box(net.router, nat());
  const auto both = BoxAgent::request(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                                      Direction::kBidirectional);
  box.agent().enable(both);
  PrrRequest reservation;
  reservation.parameters.outside_version = both.internal.ip_version == IpVersion::kIpv4
                                               ? RequestedIpVersion::kIpv4
                                               : RequestedIpVersion::kIpv6;
  reservation.parameters.protocol = kProtocolUdp;
  reservation.parameters.port_range = both.internal.port_range;
  reservation.lifetime = {60};
  const auto held = box.agent()->reserve(reservation, boost::asio::use_future).get();
  const PeaRequest pea{both.parameters, both.internal, both.external, both.lifetime, held.pid};
  try {
    box.agent()->enable_reserved(pea, boost::asio::use_future).get();
    ADD_FAILURE() << "the host's packets can have one source only";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(agent::negative_reply(error.code()), NegativeReplyCode::kConfigurationFailed);
  }
}

// --- Load ----------------------------------------------------------------------------------------

// RTP-like streams both ways lose nothing while other rules come and go and their own are renewed.
TEST_P(Router, StreamsLoseNothingWhileOtherRulesChange) {
  RouterBox box(net.router);
  auto& agent = box.agent();
  const Udp host(net.inside, {a().host, 5004});
  const Udp peer(net.outside, {a().peer, 6004});
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

int main(int argc, char** argv) {
  const bool able = simco::test::become_able_to_make_namespaces();
  testing::InitGoogleTest(&argc, argv);
  if (!able) std::fprintf(stderr, "no network namespace can be made here: these tests will fail\n");
  return RUN_ALL_TESTS();
}
