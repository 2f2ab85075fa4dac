// Which packets the kernel's connection tracking follows, by --tracking.
#include <gtest/gtest.h>

#include "tests/integration/router/router.hpp"

namespace simco::test {
namespace {

class Tracking : public Router {
 protected:
  /// Tracked flows of UDP or TCP with that port.
  std::string flows(const char* protocol, int port) const {
    const std::string family = a().host == kV4.host ? "ipv4" : "ipv6";
    return net.router.output("conntrack -L -p " + std::string(protocol) + " -f " + family +
                             " 2>/dev/null | grep -w dport=" + std::to_string(port));
  }
  static Words tracking(const char* value) { return {"--tracking", value}; }
  /// A packet in each direction passes.
  bool passes_both_ways(RouterBox& box) const {
    box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
    const auto [host, peer] = udp();
    return host.gets(peer, {a().host, 5004}) && peer.gets(host, {a().peer, 6004});
  }
};
INSTANTIATE_TEST_SUITE_P(Both, Tracking, testing::Values("IPv4", "IPv6"),
                         [](const auto& version) { return std::string(version.param); });

TEST_P(Tracking, NothingIsTrackedWithoutNeed) {
  RouterBox box(net.router, tracking("needed"));
  EXPECT_TRUE(passes_both_ways(box));
  EXPECT_EQ(flows("udp", 5004), "");
  EXPECT_TRUE(nobody_listens()) << "the error that says so comes back";
  EXPECT_EQ(flows("udp", 6004), "");
  // Tracking alone knows the side that began a connection: it begins with such a rule.
  box.agent().enable(at(a().host, 8080), at(a().peer, 9090), kProtocolTcp, Direction::kInbound);
  const TcpListener host(net.inside, {a().host, 8080});
  const Tcp client(net.outside, {a().peer, 9090});
  ASSERT_TRUE(client.connect({a().host, 8080}));
  EXPECT_NE(flows("tcp", 8080), "");
}

// nft reads back its own output only with the rules for all packets.
TEST_P(Tracking, AllIsTrackedByDefault) {
  RouterBox box(net.router);
  EXPECT_TRUE(passes_both_ways(box));
  EXPECT_NE(flows("udp", 5004), "");
  EXPECT_TRUE(nobody_listens());
}

TEST_P(Tracking, TheSitesOwnGoesOnUnlessItIsToldNotTo) {
  net.router.shell(kTheSiteTracks);
  {
    RouterBox box(net.router, tracking("needed"));
    EXPECT_TRUE(passes_both_ways(box));
    EXPECT_NE(flows("udp", 5004), "");
    box.stop();
  }
  net.router.shell("conntrack -F 2>/dev/null");
  RouterBox box(net.router, tracking("notrack"));
  EXPECT_TRUE(passes_both_ways(box));
  EXPECT_EQ(flows("udp", 5004), "");
  EXPECT_EQ(flows("udp", 6004), "");
  EXPECT_TRUE(nobody_listens());
}

TEST_P(Tracking, NotrackLeavesTheRoutersOwnPacketsAlone) {
  net.router.shell(kTheSiteTracks);
  RouterBox box(net.router, tracking("notrack"));
  const bool ipv4 = a().host == kV4.host;
  const Endpoint own{ipv4 ? "192.0.2.1" : "2001:db8:2::1", 5300};
  const Udp router(net.router, own);
  const Udp peer(net.outside, {a().peer, 6004});
  EXPECT_TRUE(router.gets(peer, own));
  EXPECT_NE(flows("udp", 5300), "") << "to the router";
  EXPECT_TRUE(peer.gets(router, {a().peer, 6004}));
  // Between the internal network and a third one.
  const NetworkNamespace third;
  net.router.shell("ip link add third0 type veth peer name eth0; ip link set eth0 netns " +
                   third.path() + "; ip link set third0 up; ip addr add " +
                   (ipv4 ? "203.0.113.1/24" : "2001:db8:3::1/64 nodad") + " dev third0");
  third.shell(
      "ip link set lo up; ip link set eth0 up; ip addr add " +
      std::string(ipv4 ? "203.0.113.2/24" : "2001:db8:3::2/64 nodad") +
      " dev eth0; ip route add default via 203.0.113.1 2>/dev/null; ip -6 route add default "
      "via 2001:db8:3::1 2>/dev/null; true");
  const Endpoint elsewhere{ipv4 ? "203.0.113.2" : "2001:db8:3::2", 7004};
  const Udp host(net.inside, {a().host, 5004});
  const Udp stranger(third, elsewhere);
  EXPECT_TRUE(stranger.gets(host, elsewhere));
  EXPECT_NE(flows("udp", 7004), "") << "to a third network";
}

// In the site's table, the site's tracking stays as it is, and packets are looked up all the same.
TEST_P(Tracking, SharedTable) {
  net.router.shell(
      "nft 'add table inet site; add chain inet site simco-forward; add chain inet site f { type "
      "filter hook forward priority filter; policy drop; }; add rule inet site f jump "
      "simco-forward'");
  RouterBox box(net.router, {"--table", "site", "--table-mode", "shared", "--tracking", "needed"});
  EXPECT_TRUE(passes_both_ways(box));
  EXPECT_EQ(flows("udp", 5004), "");
  EXPECT_TRUE(nobody_listens());
}

}  // namespace
}  // namespace simco::test
