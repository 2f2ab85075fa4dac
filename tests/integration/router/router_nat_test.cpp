// Real packets through a router that translates addresses.
#include <gtest/gtest.h>

#include "tests/integration/router/router.hpp"

namespace simco::test {
namespace {

TEST_P(Router, NatTranslatesBothWays) {
  RouterBox box(net.router, nat());
  auto& agent = box.agent();
  const auto [host, peer] = udp();
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
  // A sender to the pool here sends through the router, and would see the packet come back.
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

// Otherwise connection tracking would keep the host's own address, and give packets from outside to
// it another port.
TEST_P(Router, NatRouteThatLeadsBackInside) {
  RouterBox box(net.router, nat());
  const auto [host, peer] = udp();
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  const bool ipv4 = a().host == kV4.host;
  const auto route = [&](const std::string& change) {
    net.router.shell((ipv4 ? "ip route " : "ip -6 route ") + change + " " + a().peer + " dev int0");
  };
  route("add");
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  route("del");
  EXPECT_EQ(host.gets(peer, endpoint_of(rule.outside)), (Endpoint{a().peer, 6004}));
}

TEST_P(Router, ForgedInternalSources) {
  const bool ipv4 = a().host == kV4.host;
  net.router.shell(
      "for i in all ext0 int0; do echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; done");
  const std::string forged = ipv4 ? "10.0.0.77" : "2001:db8:1::77";
  net.outside.shell("ip addr add " + forged + (ipv4 ? "/32" : "/128 nodad") + " dev lo");
  RouterBox box(net.router);
  const auto [host, peer] = udp();
  const Udp liar(net.outside, {forged, 6004});
  box.agent().enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(host.misses(liar, {a().host, 5004}));
  // A rule for that very host has it.
  box.agent().enable(at(a().host, 5004), at(forged, 6004), kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(host.gets(liar, {a().host, 5004}));
}

TEST_P(Router, NatOneWayAndWithAnUnknownPeer) {
  RouterBox box(net.router, nat("30000-30000"));
  auto& agent = box.agent();
  const auto [host, peer] = udp();
  const Udp peer2(net.outside, {a().peer2, 7777});
  const auto in = agent.enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  const auto bound = endpoint_of(in.outside);
  EXPECT_TRUE(host.gets(peer, bound));
  EXPECT_TRUE(host.gets(peer2, bound));
  EXPECT_TRUE(peer.misses(host, {a().peer, 6004}));
  agent.remove(in.pid);
  // The ports go to another host, and with them the packets of the same peer.
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
  reserve.lifetime = {kLongLifetimeS};
  const auto held = box.agent().reserve(reserve);
  const auto bound = endpoint_of(held.outside);
  const auto [host, peer] = udp();
  EXPECT_TRUE(host.misses(peer, bound));
  const auto per = BoxAgent::request(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                                     Direction::kBidirectional);
  const auto rule = box.agent().enable_reserved(held.pid, per);
  EXPECT_EQ(endpoint_of(rule.outside), bound);
  EXPECT_TRUE(host.gets(peer, bound));
}

TEST_P(Router, NatIcmpErrorsAreTranslated) {
  RouterBox box(net.router, nat());
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(nobody_listens());
}

// The router's own address as pool: packets before the rule must not prevent its use.
TEST_P(Router, NatOnTheRoutersOwnAddress) {
  const bool ipv4 = a().host == kV4.host;
  const std::string own = ipv4 ? "192.0.2.1" : "2001:db8:2::1";
  RouterBox box(net.router, {"--mode", "nat", "--outside", own, "--ports", "30000-30999"});
  const auto [host, peer] = udp();
  for (std::uint16_t port = 30000; port < 30010; ++port) peer.send({own, port});
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, endpoint_of(rule.outside)));
}

TEST_P(Router, TwiceNatHidesBothSides) {
  RouterBox box(net.router, {"--mode", "twice-nat", "--outside", a().pool, "--inside", a().in_pool,
                             "--ports", "30000-30999"});
  const auto [host, peer] = udp();
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
  const auto [host, peer] = udp();
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
  reservation.lifetime = {kLongLifetimeS};
  const auto held = box.agent().reserve(reservation);
  try {
    box.agent().enable_reserved(held.pid, both);
    ADD_FAILURE() << "the host's packets can have one source only";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(agent::negative_reply(error.code()), NegativeReplyCode::kConfigurationFailed);
  }
}

}  // namespace
}  // namespace simco::test
