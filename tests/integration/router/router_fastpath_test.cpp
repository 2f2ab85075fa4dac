// Which packets of a router with --fast-path xdp go past the kernel's stack, and that nftables goes
// on alone when the fast path cannot.
#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "tests/integration/router/backend_fixture.hpp"
#include "tests/integration/router/router.hpp"

namespace simco::test {
namespace {

class FastPath : public Router {
 protected:
  void SetUp() override {
    if (const auto missing = Network::lacks_fast_path())
      GTEST_SKIP() << "this machine: " << *missing;
    if (std::string_view(GetParam()).ends_with("Cards")) net.use_cards();
    net.make_fast();
    net.router.shell(
        "nft 'add table inet sees; add chain inet sees c { type filter hook forward priority -10; "
        "}; add rule inet sees c counter'");
  }

  static Words fast(const Words& options = {}) { return options + Words{"--fast-path", "xdp"}; }
  static bool is_on(const RouterBox& box) { return box.says("fast path: on"); }

  /// Packets that the router has forwarded through its stack, or dropped there.
  std::string in_stack() const {
    const auto text = net.router.output("nft list table inet sees");
    const auto begin = text.find("packets ");
    return text.substr(begin, text.find(" bytes") - begin);
  }
  /// The packet arrives, and has not been in the stack. The first one to a host may be, as its
  /// hardware address is asked for, and one every few seconds.
  bool skips_stack(const Udp& from, const Endpoint& to, const Udp& receiver) const {
    return eventually([&] {
      const auto before = in_stack();
      return receiver.gets(from, to) && in_stack() == before;
    });
  }
  /// The packet arrives, and so do several after it, all through the stack.
  bool takes_stack(const Udp& from, const Endpoint& to, const Udp& receiver) const {
    for (int i = 0; i < 3; ++i) {
      const auto before = in_stack();
      if (!receiver.gets(from, to) || in_stack() == before) return false;
    }
    return true;
  }
  bool has_program(const char* interface) const {
    return net.router.output("ip link show " + std::string(interface)).contains("xdp");
  }

  Endpoint internal{a().host, 5004};
  Endpoint external{a().peer, 6004};
  Udp host{net.inside, internal};
  Udp peer{net.outside, external};
};
/// Over veths, and over other network cards.
INSTANTIATE_TEST_SUITE_P(All, FastPath, testing::Values("IPv4", "IPv6", "IPv4Cards", "IPv6Cards"),
                         [](const auto& version) { return std::string(version.param); });

/// Behaviour of veths alone.
class FastPathVeth : public FastPath {};
INSTANTIATE_TEST_SUITE_P(Both, FastPathVeth, testing::Values("IPv4", "IPv6"),
                         [](const auto& version) { return std::string(version.param); });

TEST_P(FastPath, TakesUdpOfRulesBetweenTwoEndpoints) {
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  const auto rule = box.agent().enable(at(a().host, 5004, 2), at(a().peer, 6004, 2));
  const Endpoint odd_internal{a().host, 5005};
  const Endpoint odd_external{a().peer, 6005};
  const Udp odd_host(net.inside, odd_internal);
  const Udp odd_peer(net.outside, odd_external);
  EXPECT_TRUE(skips_stack(host, external, peer));
  EXPECT_TRUE(skips_stack(peer, internal, host));
  EXPECT_TRUE(skips_stack(odd_host, odd_external, odd_peer));
  EXPECT_TRUE(skips_stack(odd_peer, odd_internal, odd_host));
  EXPECT_TRUE(host.misses(odd_peer, internal)) << "the n-th port with the n-th";
  box.agent().remove(rule.pid);
  EXPECT_TRUE(host.misses(peer, internal));
  EXPECT_TRUE(peer.misses(host, external));
}

TEST_P(FastPath, LeavesWhatItDoesNotKnowToTheStack) {
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004), a().peer, kProtocolUdp, Direction::kInbound);
  EXPECT_TRUE(takes_stack(peer, internal, host)) << "a wildcard";

  const TcpListener listener(net.inside, {a().host, 8080});
  const Tcp client(net.outside, {a().peer, 9090});
  box.agent().enable(at(a().host, 8080), at(a().peer, 9090), kProtocolTcp, Direction::kInbound);
  const auto before = in_stack();
  EXPECT_TRUE(client.connect({a().host, 8080}));
  EXPECT_NE(in_stack(), before);
}

TEST_P(FastPath, PassesNothingWithoutALease) {
  const auto version =
      a().host.find(':') == std::string::npos ? IpVersion::kIpv4 : IpVersion::kIpv6;
  const auto rule = change(kAdd, 1, at(a().host, 5004), at(a().peer, 6004), 600,
                           Direction::kBidirectional, version);
  boost::asio::io_context io;
  const auto backend = net.router.run([&] {
    auto made = backend_of(
        fast(Words{"--backend", "nftables", "--claim-table", "no"} + RouterBox::kInterfaces), io);
    made->lease({});
    EXPECT_EQ(made->begin(std::vector{rule}), Results{ChangeResult::kDone});
    return made;
  });
  const auto now = std::chrono::steady_clock::now;
  const auto closed = [&] {
    const auto before = in_stack();
    return host.misses(peer, internal) && peer.misses(host, external) && in_stack() != before;
  };
  EXPECT_TRUE(eventually([&] {
    io.run_for(std::chrono::milliseconds(10));
    return has_program("int0") && has_program("ext0");
  }));
  EXPECT_TRUE(host.misses(peer, internal));
  EXPECT_TRUE(peer.misses(host, external));
  EXPECT_TRUE(eventually(closed));
  backend->lease(now() + std::chrono::hours(1));
  EXPECT_TRUE(skips_stack(host, external, peer));
  EXPECT_TRUE(skips_stack(peer, internal, host));
  backend->lease(now());
  EXPECT_TRUE(eventually(closed));
  // The kernel ends it, without this process.
  backend->lease(now() + std::chrono::milliseconds(500));
  EXPECT_TRUE(eventually(closed));
  backend->lease(Instant::max());
  EXPECT_TRUE(skips_stack(peer, internal, host));
  backend->lease(now() + std::chrono::hours(1));
  // In a table that is made again, too.
  net.router.shell("nft flush ruleset");
  EXPECT_TRUE(eventually([&] {
    io.run_for(std::chrono::milliseconds(10));
    return net.router.output("nft list set inet simco lease").contains("ipv6");
  }));
  EXPECT_TRUE(peer.gets(host, external));
}

TEST_P(FastPath, Translates) {
  auto options = fast(nat());
  RouterBox box(net.router, options);
  ASSERT_TRUE(is_on(box));
  const auto rule = box.agent().enable(at(a().host, 5004, 2), at(a().peer, 6004, 2));
  const auto outside = endpoint_of(rule.outside);
  EXPECT_TRUE(skips_stack(host, external, peer));
  EXPECT_TRUE(skips_stack(peer, outside, host));
  EXPECT_EQ(peer.gets(host, external), outside);
  EXPECT_EQ(host.gets(peer, outside), external);
  box.agent().remove(rule.pid);
  EXPECT_TRUE(host.misses(peer, outside));
}

// Connection tracking has to know of each port's flow, as it translates the errors about it.
TEST_P(FastPath, ErrorsAboutAPortArriveWhileTheNextIsInUse) {
  RouterBox box(net.router, fast(nat()));
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004, 2), at(a().peer, 6004, 2));
  const Udp odd_host(net.inside, {a().host, 5005});
  const Endpoint odd_external{a().peer, 6005};
  EXPECT_TRUE(skips_stack(odd_host, odd_external, Udp(net.outside, odd_external)));
  static_cast<void>(Udp(std::move(peer)));
  EXPECT_TRUE(nobody_listens());
}

TEST_P(FastPath, TranslatesTwice) {
  RouterBox box(net.router,
                fast({"--mode", "twice-nat", "--outside", a().pool, "--inside", a().in_pool}));
  ASSERT_TRUE(is_on(box));
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  const auto outside = endpoint_of(rule.outside);
  ASSERT_TRUE(rule.inside);
  const auto inside = endpoint_of(*rule.inside);
  EXPECT_TRUE(skips_stack(host, inside, peer));
  EXPECT_TRUE(skips_stack(peer, outside, host));
  EXPECT_EQ(peer.gets(host, inside), outside);
  EXPECT_EQ(host.gets(peer, outside), inside);
}

TEST_P(FastPath, GoesWithAKilledMiddleboxAndNftablesGoesOn) {
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(skips_stack(peer, internal, host));
  EXPECT_TRUE(has_program("int0"));
  EXPECT_TRUE(has_program("ext0"));
  box.kill();
  EXPECT_TRUE(eventually([&] { return !has_program("int0") && !has_program("ext0"); }));
  EXPECT_TRUE(takes_stack(peer, internal, host));
}

TEST_P(FastPath, ComesBackToAnInterfaceThatIsMadeAnew) {
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  net.router.shell("ip link del int0");
  EXPECT_TRUE(box.says("interface int0 is gone"));
  EXPECT_TRUE(box.says("off, nftables handles all packets: there is no Ethernet interface int0"));
  net.wire_inside();
  net.make_fast();
  EXPECT_TRUE(eventually([&] { return has_program("int0"); }));
  EXPECT_TRUE(skips_stack(peer, internal, host));
  EXPECT_TRUE(skips_stack(host, external, peer));
}

TEST_P(FastPath, IsNotTakenOffByOthers) {
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  net.router.output("ip link set ext0 xdp off 2>&1; ip link set ext0 xdpdrv off 2>&1");
  EXPECT_TRUE(has_program("ext0"));
}

TEST_P(FastPath, WaitsForTheProgramOfAnother) {
  auto first = std::make_unique<RouterBox>(net.router, fast({"--table", "first"}));
  ASSERT_TRUE(is_on(*first));
  RouterBox second(net.router, fast({"--table", "second"}));
  EXPECT_TRUE(second.says("int0: another XDP program is there"));
  first->kill();
  EXPECT_TRUE(is_on(second)) << "tried again";
}

// Linking interrupts a network card.
TEST_P(FastPathVeth, DoesNotLinkAnInterfaceAgainAndAgainBecauseOfTheOther) {
  net.router.shell(
      "ip link add spare0 type veth peer name spare1; ethtool -K spare1 gro on txvlan off "
      "tx-vlan-stag-hw-insert off >/dev/null; ethtool -K spare0 rxvlan off "
      "rx-vlan-stag-hw-parse off >/dev/null; "
      "ip link set spare0 up; ip link set spare1 up");
  const auto first = start(
      net.router, {"simco-middlebox", "--backend", "nftables", "--port", "0", "--table", "first",
                   "--internal-if", "spare0", "--external-if", "ext0", "--fast-path", "xdp"});
  ASSERT_TRUE(first->says("fast path: on"));
  RouterBox second(net.router, fast({"--table", "second", "--log-level", "debug"}));
  EXPECT_TRUE(second.says("again in 2 s: ext0: another XDP program is there"));
  EXPECT_FALSE(has_program("int0"));
  first->signal(SIGKILL);
  first->wait();
  EXPECT_TRUE(is_on(second));
  EXPECT_EQ(count_of(second.program().err(), "int0 linked"), 2U)
      << "at the start, and when ext0 was free";
  second.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(skips_stack(peer, internal, host));
}

TEST_P(FastPath, IsOffWhileTheRouterDoesWhatXdpWouldNot) {
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  for (const std::string value : {"1", "2"}) {
    net.router.shell("echo " + value + " > /proc/sys/net/ipv4/conf/ext0/rp_filter");
    EXPECT_TRUE(eventually([&] { return !has_program("ext0"); })) << value;
    EXPECT_TRUE(takes_stack(peer, internal, host));
    net.router.shell("echo 0 > /proc/sys/net/ipv4/conf/ext0/rp_filter");
    EXPECT_TRUE(eventually([&] { return has_program("ext0"); }));
    EXPECT_TRUE(skips_stack(peer, internal, host));
  }
  EXPECT_TRUE(box.says("off, nftables handles all packets: rp_filter of ext0 is on"));
}

// The stack drops those of IPv4, and routes those of IPv6.
TEST_P(FastPath, LeavesWhatComesFromTheRoutersOwnAddressesToTheStack) {
  const bool four = !internal.ipv6();
  const Endpoint inner{four ? "192.0.2.1" : "2001:db8:2::1", 5004};
  const Endpoint outer{four ? "10.0.0.1" : "2001:db8:1::1", 6004};
  const std::string alone = four ? "/32 dev lo" : "/128 dev lo nodad";
  net.inside.shell("ip addr add " + inner.address + alone);
  net.outside.shell("ip addr add " + outer.address + alone);
  const Udp within(net.inside, inner);
  const Udp without(net.outside, outer);
  const Udp host2(net.inside, {a().host2, 5004});
  const auto stays_in_stack = [&](const Udp& from, const Endpoint& to, const Udp& receiver) {
    if (!four) return takes_stack(from, to, receiver);
    return receiver.misses(from, to) && receiver.misses(from, to) && receiver.misses(from, to);
  };
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(inner.address, 5004), at(a().peer, 6004));
  box.agent().enable(at(a().host, 5004), at(outer.address, 6004));
  box.agent().enable(at(a().host2, 5004), at(a().peer, 6004));
  EXPECT_TRUE(skips_stack(host2, external, peer));
  EXPECT_TRUE(stays_in_stack(within, external, peer));
  EXPECT_TRUE(stays_in_stack(without, internal, host));
  net.router.shell("ip addr add " + a().host2 + alone);
  EXPECT_TRUE(eventually([&] { return stays_in_stack(host2, external, peer); }));
}

TEST_P(FastPath, IsOffWhileRoutesDependOnMoreThanTheDestination) {
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(skips_stack(peer, internal, host));
  // As the kernel's own ones have it, but for a part of the packets.
  for (const std::string rule : {"priority 32766 fwmark 7 table main",
                                 "from all iif int0 table 100", "priority 32767 table 100"}) {
    net.router.shell("ip -6 rule add " + rule);
    EXPECT_TRUE(eventually([&] { return !has_program("ext0"); })) << rule;
    EXPECT_TRUE(takes_stack(peer, internal, host));
    net.router.shell("ip -6 rule del " + rule);
    EXPECT_TRUE(eventually([&] { return has_program("ext0"); })) << rule;
  }
  EXPECT_TRUE(box.says("policy routing"));
}

TEST_P(FastPath, IsOffWhileThereAreIpsecPolicies) {
  const std::string policy = "ip xfrm policy add src 203.0.113.0/24 dst 203.0.113.0/24 dir fwd";
  if (!net.router.output(policy + " 2>&1; ip xfrm policy").contains("dir fwd"))
    GTEST_SKIP() << "this machine: no IPsec";
  RouterBox box(net.router, fast());
  EXPECT_TRUE(box.says("off, nftables handles all packets: there are IPsec policies"));
  net.router.shell("ip xfrm policy flush");
  EXPECT_TRUE(is_on(box));
}

// A neighbour on the same machine leaves checksums to a network card that there is not.
TEST_P(FastPathVeth, LeavesUnfinishedChecksumsToTheStack) {
  net.outside.shell("ethtool -K eth0 tx on >/dev/null");
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(takes_stack(peer, internal, host));
  EXPECT_TRUE(skips_stack(host, external, peer)) << "the other neighbour's are there";
}

// The tag is beside the packet then, where XDP does not look: it would pass as one without.
TEST_P(FastPathVeth, IsOffWhileTheInterfaceTakesOutVlanTags) {
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(skips_stack(peer, internal, host));
  for (const std::string feature : {"rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"}) {
    net.router.shell("ethtool -K ext0 " + feature + " on >/dev/null");
    EXPECT_TRUE(box.says("ethtool -K ext0 " + feature + " off"));
    EXPECT_TRUE(eventually([&] { return !has_program("ext0"); }));
    EXPECT_TRUE(takes_stack(peer, internal, host));
    net.router.shell("ethtool -K ext0 " + feature + " off >/dev/null");
    EXPECT_TRUE(eventually([&] { return has_program("ext0"); }));
    EXPECT_TRUE(skips_stack(peer, internal, host));
  }
}

TEST_P(FastPathVeth, DoesNotSendWhereNobodyTakesIt) {
  net.inside.shell("ethtool -K eth0 gro off >/dev/null");
  RouterBox box(net.router, fast());
  EXPECT_TRUE(box.says("the peer of int0, a veth, takes no redirected packets"));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(takes_stack(peer, internal, host));
  net.inside.shell("ethtool -K eth0 gro on >/dev/null");
  EXPECT_TRUE(is_on(box));
  EXPECT_TRUE(skips_stack(peer, internal, host));
}

TEST_P(FastPath, WithoutTheRightsThatItTakesNftablesIsThereAlone) {
  for (const char* caps : {",+net_admin", ",+net_admin,+bpf"}) {
    const auto box = start_with(net.router, caps, fast());
    EXPECT_TRUE(
        box->says("fast path: none, nftables handles all packets: not permitted; run as "
                  "root, or with the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"))
        << caps;
    BoxAgent agent(net.router, box->listening_port());
    const auto rule = agent.enable(at(a().host, 5004), at(a().peer, 6004));
    EXPECT_TRUE(takes_stack(peer, internal, host));
    EXPECT_FALSE(has_program("int0"));
    agent.remove(rule.pid);
  }
}

TEST_P(FastPath, TakesMoreRightsAtTheStartOnly) {
  const auto box = start_with(net.router, ",+net_admin,+bpf,+perfmon", fast());
  ASSERT_TRUE(box->says("fast path: on"));
  const auto status = "/proc/" + std::to_string(box->pid()) + "/status";
  EXPECT_TRUE(eventually([&] {
    return net.router.output("grep -c 'Cap\\(Prm\\|Eff\\):.0*1000$' " + status) == "2\n";
  })) << "CAP_NET_ADMIN";
  BoxAgent agent(net.router, box->listening_port());
  agent.enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(skips_stack(peer, internal, host));
}

TEST_P(FastPath, DoesNotSendWhatIsTooLong) {
  net.inside.shell("ip link set eth0 mtu 1300");
  net.router.shell("ip link set int0 mtu 1300");
  RouterBox box(net.router, fast());
  ASSERT_TRUE(is_on(box));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(skips_stack(peer, internal, host));
  EXPECT_TRUE(eventually([&] {
    peer.send(internal, std::string(1400, 'x'));
    return net.outside.output("ip route get " + a().host).contains("mtu 1300");
  })) << "the stack says so";
}

}  // namespace
}  // namespace simco::test
