// Real packets to a machine whose middlebox guards ports of its own: alone, and while it forwards.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/integration/router/router.hpp"
#include "tests/support/folder.hpp"

namespace simco::test {
namespace {

const Words kGuards{"--guard", "udp:30000-40000,tcp:5061"};

/// The router's own addresses.
std::string own_address(bool ipv4) { return ipv4 ? "192.0.2.1" : "2001:db8:2::1"; }

class Guard : public Router {
 protected:
  bool ipv4() const { return std::string_view(GetParam()).starts_with("IPv4"); }
  std::string me() const { return own_address(ipv4()); }
  Endpoint own(int port) const { return {me(), static_cast<std::uint16_t>(port)}; }
  Endpoint far(int port) const { return {a().peer, static_cast<std::uint16_t>(port)}; }
  std::string ruleset() const { return net.router.output("nft list ruleset"); }
  /// Runs the middlebox to its end, which must be with `code`. Returns its complaint.
  std::string run(const Words& options, int code) const {
    const Words words{"simco-middlebox", "--backend", "nftables", "--port", "0"};
    return net.router.run([&] { return test::run(words + options, code).err; });
  }
};

INSTANTIATE_TEST_SUITE_P(Both, Guard, testing::Values("IPv4", "IPv6"),
                         [](const auto& version) { return std::string(version.param); });

/// A middlebox that forwards nothing.
class HostBox : public RouterBox {
 public:
  explicit HostBox(const NetworkNamespace& host, const Words& options = kGuards)
      : RouterBox(host, options, 0, {}) {}
};

TEST_P(Guard, UdpReachesAGuardedPortOnlyByARule) {
  HostBox box(net.router);
  const Udp guarded(net.router, own(30004));
  const Udp unguarded(net.router, own(5004));
  const Udp peer(net.outside, far(6004));
  const Udp stranger(net.outside, {a().peer2, 6004});
  EXPECT_TRUE(guarded.misses(peer, own(30004)));
  EXPECT_TRUE(unguarded.gets(peer, own(5004)));
  EXPECT_TRUE(peer.gets(guarded, far(6004))) << "this machine's own packets are free";
  EXPECT_TRUE(guarded.misses(peer, own(30004))) << "a reply needs a rule as well";

  const auto rule = box.agent().enable(at(me(), 30004), at(a().peer, 6004));
  EXPECT_TRUE(guarded.gets(peer, own(30004)));
  EXPECT_TRUE(guarded.misses(stranger, own(30004)));
  box.agent().remove(rule.pid);
  EXPECT_TRUE(guarded.misses(peer, own(30004)));

  box.agent().enable(at(me(), 30004), at(a().peer, 6004), kProtocolUdp, Direction::kOutbound);
  EXPECT_TRUE(guarded.misses(peer, own(30004)));
}

TEST_P(Guard, TcpReachesAGuardedPortOnlyByARule) {
  HostBox box(net.router);
  const TcpListener guarded(net.router, own(5061));
  const TcpListener unguarded(net.router, own(5060));
  EXPECT_FALSE(Tcp(net.outside, far(0)).connect(own(5061), kStaysAway));
  EXPECT_TRUE(Tcp(net.outside, far(0)).connect(own(5060)));

  const auto rule = box.agent().enable(at(me(), 5061), a().peer, kProtocolTcp, Direction::kInbound);
  const Tcp client(net.outside, far(0));
  ASSERT_TRUE(client.connect(own(5061)));
  const auto server = guarded.accept();
  ASSERT_TRUE(server);
  EXPECT_TRUE(passes(client, server->first));
  EXPECT_TRUE(passes(server->first, client));
  EXPECT_FALSE(Tcp(net.outside, {a().peer2, 0}).connect(own(5061), kStaysAway));
  box.agent().remove(rule.pid);
  EXPECT_FALSE(passes(client, server->first, kStaysAway)) << "its traffic ends with the rule";
}

// A connection that this machine begins at a guarded port.
TEST_P(Guard, TcpToAnywhereGetsItsReplies) {
  HostBox box(net.router);
  const TcpListener peer(net.outside, far(443));
  EXPECT_FALSE(Tcp(net.router, own(5061)).connect(far(443), kStaysAway));
  box.agent().enable(at(me(), 5061), at(a().peer, 443), kProtocolTcp, Direction::kOutbound);
  EXPECT_TRUE(Tcp(net.router, own(5061)).connect(far(443)));
  const TcpListener listener(net.router, own(5061));
  EXPECT_FALSE(Tcp(net.outside, far(444)).connect(own(5061), kStaysAway));
}

TEST_P(Guard, DisableRulesBlockBothWaysAndAtEveryPort) {
  HostBox box(net.router);
  const Udp unguarded(net.router, own(5004));
  const Udp guarded(net.router, own(30004));
  const Udp peer(net.outside, far(6004));
  const Udp stranger(net.outside, {a().peer2, 6004});
  box.agent().enable(at(me(), 30004), at(a().peer, 6004));
  box.agent().enable(at(me(), 30004), at(a().peer2, 6004));
  ASSERT_TRUE(guarded.gets(peer, own(30004)));
  const auto ban = box.agent().disable("any", a().peer, kProtocolAny);
  EXPECT_TRUE(guarded.misses(peer, own(30004)));
  EXPECT_TRUE(unguarded.misses(peer, own(5004)));
  EXPECT_TRUE(peer.misses(unguarded, far(6004)));
  EXPECT_TRUE(guarded.gets(stranger, own(30004)));
  EXPECT_TRUE(unguarded.gets(stranger, own(5004)));
  EXPECT_TRUE(stranger.gets(unguarded, {a().peer2, 6004}));
  box.agent().remove(ban.pid);
  EXPECT_TRUE(unguarded.gets(peer, own(5004)));
  EXPECT_TRUE(peer.gets(unguarded, far(6004)));
}

TEST_P(Guard, PacketsOfThisMachineToItselfAreFree) {
  HostBox box(net.router);
  const Udp guarded(net.router, own(30004));
  const Udp client(net.router, own(5004));
  EXPECT_TRUE(guarded.gets(client, own(30004)));
}

TEST_P(Guard, FragmentsReachOnlyWhatARuleIsFor) {
  for (const Words& tracking : {Words{}, Words{"--tracking", "needed"}}) {
    HostBox box(net.router, kGuards + tracking);
    const Udp guarded(net.router, own(30004));
    const Udp peer(net.outside, far(6004));
    const std::string large(2000, 'x');
    const auto arrives = [&](const std::string& text) {
      peer.send(own(30004), text);
      return guarded.receive_one(text, kStaysAway).has_value();
    };
    EXPECT_FALSE(arrives(large + "1"));
    box.agent().enable(at(me(), 30004), at(a().peer, 6004), kProtocolUdp, Direction::kInbound);
    EXPECT_TRUE(eventually([&] { return arrives(large + "2"); }));
  }
}

// The kernel tells a guarded socket that its peer is gone, and a peer nothing about a guarded port.
TEST_P(Guard, IcmpErrors) {
  HostBox box(net.router);
  const auto refused = [](const NetworkNamespace& host, const Endpoint& from, const Endpoint& to) {
    const Udp socket(host, from);
    const auto raw = to.raw();
    if (::connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&raw),
                  Socket::size_of(raw)) != 0 ||
        ::send(socket.descriptor(), "x", 1, 0) != 1) {
      return false;
    }
    return socket.readable(kStaysAway) && socket.error() == ECONNREFUSED;
  };
  EXPECT_TRUE(eventually([&] { return refused(net.router, own(30004), far(6004)); }));
  EXPECT_TRUE(eventually([&] { return refused(net.outside, far(6004), own(5004)); }));
  EXPECT_FALSE(refused(net.outside, far(6004), own(30004)));
}

TEST_P(Guard, DroppedPacketsAndThoseOfRulesAreCounted) {
  HostBox box(net.router, kGuards + Words{"--counters"});
  const Udp guarded(net.router, own(30004));
  const Udp peer(net.outside, far(6004));
  ASSERT_TRUE(guarded.misses(peer, own(30004)));
  EXPECT_TRUE(eventually([&] {
    const auto counter = net.router.output("nft list counter inet simco dropped-in-no-rule");
    return counter.contains("packets 1 ");
  }));
  const auto rule = box.agent().enable(at(me(), 30004), at(a().peer, 6004));
  ASSERT_TRUE(guarded.gets(peer, own(30004)));
  EXPECT_TRUE(
      net.router
          .output("nft list table inet simco | grep 'pid " + std::to_string(rule.pid.value) + "'")
          .contains("packets 1 "));
}

// --- Restarts, others' changes, shared tables ----------------------------------------------------

TEST_P(Guard, ARestartHasNoGap) {
  auto box = std::make_unique<HostBox>(net.router);
  const Udp guarded(net.router, own(30004));
  const Udp peer(net.outside, far(6004));
  box->agent().enable(at(me(), 30004), at(a().peer, 6004));
  box->kill();
  EXPECT_TRUE(guarded.gets(peer, own(30004)));
  const Udp other(net.router, own(30006));
  EXPECT_TRUE(other.misses(peer, own(30006)));
  const HostBox next(net.router);
  EXPECT_TRUE(guarded.misses(peer, own(30004)));
}

TEST_P(Guard, AFlushedRulesetIsRestored) {
  HostBox box(net.router, kGuards + Words{"--claim-table", "no"});
  const Udp guarded(net.router, own(30004));
  const Udp other(net.router, own(30006));
  const Udp peer(net.outside, far(6004));
  box.agent().enable(at(me(), 30004), at(a().peer, 6004));
  for (const std::string command : {"nft flush ruleset", "nft flush chain inet simco guarded4",
                                    "nft flush chain inet simco input"}) {
    const auto restored = [&] { return count_of(box.program().err(), "is restored"); };
    const auto before = restored();
    net.router.shell(command);
    EXPECT_TRUE(eventually([&] { return restored() > before; })) << command;
    EXPECT_TRUE(eventually([&] { return !guarded.misses(peer, own(30004)); })) << command;
    EXPECT_TRUE(eventually([&] { return other.misses(peer, own(30006)); })) << command;
  }
}

TEST_P(Guard, ASitesChainsDecideAboutTheRest) {
  const Words shared = kGuards + Words{"--table", "site", "--table-mode", "shared"};
  net.router.shell("nft 'add table inet site; add chain inet site simco-input'");
  EXPECT_TRUE(run(shared, 1).contains("has no chain simco-output"));
  net.router.shell(
      "nft 'add chain inet site simco-output;"
      "add chain inet site in { type filter hook input priority 0; };"
      "add chain inet site out { type filter hook output priority 0; };"
      "add rule inet site in jump simco-input; add rule inet site out jump simco-output;"
      "add rule inet site in udp dport 30000-40000 drop'");
  const Udp guarded(net.router, own(30004));
  const Udp peer(net.outside, far(6004));
  {
    HostBox box(net.router, shared);
    EXPECT_TRUE(guarded.misses(peer, own(30004)));
    box.agent().enable(at(me(), 30004), at(a().peer, 6004));
    EXPECT_TRUE(guarded.gets(peer, own(30004)));
    box.agent().disable(me(), at(a().peer, 6004));
    EXPECT_TRUE(guarded.misses(peer, own(30004)));
    EXPECT_TRUE(peer.misses(guarded, far(6004)));
    box.stop();
  }
  // Without guards, nothing of them stays.
  net.router.shell("nft add chain inet site simco-forward");
  RouterBox plain(net.router, {"--table", "site", "--table-mode", "shared"});
  EXPECT_FALSE(ruleset().contains("guarded"));
  EXPECT_TRUE(peer.gets(guarded, far(6004)));
}

// --- A guard that would lock out -----------------------------------------------------------------

/// The SSH connection in which programs are started.
class LoggedIn {
 public:
  explicit LoggedIn(const std::string& from) {
    ::setenv("SSH_CONNECTION", (from + " 50022 192.0.2.1 22").c_str(), 1);
  }
  LoggedIn(const LoggedIn&) = delete;
  LoggedIn& operator=(const LoggedIn&) = delete;
  ~LoggedIn() { ::unsetenv("SSH_CONNECTION"); }
};

// Else a stranger's connection would keep all ports open.
TEST_P(Guard, AConnectionFromWhereNobodyIsLoggedInIsCut) {
  const LoggedIn elsewhere("192.0.2.200");
  const TcpListener listener(net.router, own(22));
  const Tcp stranger(net.outside, far(50022));
  ASSERT_TRUE(stranger.connect(own(22)));
  const auto server = listener.accept();
  ASSERT_TRUE(server);
  HostBox box(net.router, {"--guard", "tcp:22"});
  EXPECT_FALSE(passes(stranger, server->first, kStaysAway));
}

TEST_P(Guard, TheMachineOfASessionOfLogindIsKnown) {
  const TcpListener listener(net.router, own(22));
  const Tcp administrator(net.outside, far(50022));
  ASSERT_TRUE(administrator.connect(own(22)));
  const Folder folder{"logins"};
  folder.write("start",
               "mount -t tmpfs tmpfs /run\nmkdir -p /run/systemd/sessions\n"
               "printf 'ACTIVE=1\\nSTATE=active\\nREMOTE=1\\nREMOTE_HOST=" +
                   a().peer + "\\n' >/run/systemd/sessions/c1\n" + SIMCO_BIN_DIR +
                   "/simco-middlebox --port 0 --backend nftables --guard tcp:22 2>&1\n");
  const auto said = net.router.output("unshare --mount sh " + folder.file("start") + " || true");
  EXPECT_TRUE(said.contains("--guard: the open connection from " + a().peer)) << said;
}

// Somebody has recovered the machine from its console.
TEST_P(Guard, AnEmptiedChainGuardsNothing) {
  const Words guard{"--guard", "tcp:22", "--claim-table", "no"};
  HostBox(net.router, guard).kill();
  net.router.shell("nft flush chain inet simco input");
  const LoggedIn here(a().peer);
  const TcpListener listener(net.router, own(22));
  const Tcp administrator(net.outside, far(50022));
  ASSERT_TRUE(administrator.connect(own(22)));
  EXPECT_TRUE(run(guard, 1).contains("--guard-anyway"));
}

TEST_P(Guard, ManyRangesAreSavedAndLoadAgain) {
  std::string ranges;
  for (int i = 0; i < 12; ++i) {
    ranges += (i == 0 ? "udp:" : ",udp:") + std::to_string(30000 + 100 * i) + "-" +
              std::to_string(30050 + 100 * i);
  }
  HostBox(net.router, {"--guard", ranges, "--claim-table", "no"}).kill();
  const Folder folder{"guards"};
  const auto file = folder.file("saved.nft");
  net.router.shell("nft list ruleset > " + file + " && nft flush ruleset && nft -f " + file);
  EXPECT_TRUE(ruleset().contains("udp dport 31100-31150"));
}

TEST_P(Guard, AnOpenConnectionIsNotCutUnasked) {
  const LoggedIn here(a().peer);
  const Words guard{"--guard", "tcp:22,udp:30000-40000"};
  const TcpListener listener(net.router, own(22));
  const Tcp administrator(net.outside, far(50022));
  ASSERT_TRUE(administrator.connect(own(22)));
  const auto server = listener.accept();
  ASSERT_TRUE(server);
  EXPECT_TRUE(
      run(guard, 1).contains("--guard: the open connection from " + a().peer +
                             " port 50022 to port 22 would be cut, and somebody is logged in "
                             "from there: leave its port out, or confirm with "
                             "--guard-anyway\n"));
  EXPECT_TRUE(passes(administrator, server->first));
  HostBox anyway(net.router, guard + Words{"--guard-anyway"});
  EXPECT_FALSE(passes(administrator, server->first, kStaysAway));
  anyway.kill();
  // It is cut already.
  HostBox next(net.router, guard);
  EXPECT_TRUE(ruleset().contains("comment \"tcp:22,udp:30000-40000\""));
}

TEST_P(Guard, AConnectionThatAStoredRuleLetsPassIsNotCut) {
  const Folder folder{"guards"};
  const Words guard{"--guard", "tcp:22", "--state", folder.file("rules.db")};
  const LoggedIn here(a().peer);
  const TcpListener listener(net.router, own(22));
  const Tcp administrator(net.outside, far(50022));
  {
    HostBox box(net.router, guard);
    box.agent().enable(at(me(), 22), at(a().peer, 50022), kProtocolTcp, Direction::kInbound);
    ASSERT_TRUE(administrator.connect(own(22)));
    box.kill();
  }
  const auto server = listener.accept();
  ASSERT_TRUE(server);
  net.router.shell(
      "nft list table inet simco >/dev/null 2>&1 && nft delete table inet simco; true");
  HostBox box(net.router, guard);
  EXPECT_TRUE(passes(administrator, server->first));
}

TEST_P(Guard, AWiderGuardThanBeforeIsANewOne) {
  HostBox(net.router, {"--guard", "tcp:5061"}).kill();
  const LoggedIn here(a().peer);
  const TcpListener listener(net.router, own(22));
  const Tcp administrator(net.outside, far(50022));
  ASSERT_TRUE(administrator.connect(own(22)));
  EXPECT_TRUE(run({"--guard", "tcp:22,tcp:5061"}, 1).contains("--guard-anyway"));
  run({"--guard", "tcp:22,tcp:5061", "--remove-rules"}, 0);  // which cuts nothing
  EXPECT_FALSE(ruleset().contains("guarded"));
}

TEST_P(Guard, SaysWhichPortsTheKernelMayGiveAway) {
  net.router.shell("echo 32768 60999 > /proc/sys/net/ipv4/ip_local_port_range");
  const auto check = [&](const std::string& guard) {
    return run({"--guard", guard, "--check", "--check-user", "root"}, 0);
  };
  const std::string advice = "sysctl net.ipv4.ip_local_reserved_ports=";
  EXPECT_TRUE(check("udp:30000-40000,udp:50000").contains(advice + "30000-40000,50000-50000\n"));
  EXPECT_FALSE(check("udp:30000-32767").contains(advice));
  net.router.shell("echo 30000-40000 > /proc/sys/net/ipv4/ip_local_reserved_ports");
  EXPECT_FALSE(check("udp:30000-40000").contains(advice));
  // The sites' own stay.
  EXPECT_TRUE(check("udp:50000").contains(advice + "30000-40000,50000-50000\n"));
}

TEST_P(Guard, WarnsOfTheMiddleboxsOwnPort) {
  const auto check = [&](const std::string& address) {
    return test::run({"simco-middlebox", "--backend", "nftables", "--guard", "tcp:7000-8000",
                      "--allow-anonymous", "--listen", address, "--check", "--check-user", "root"},
                     0)
        .err;
  };
  const std::string warning = "--guard: port 7626 is the middlebox's own";
  EXPECT_TRUE(check(me()).contains(warning));
  EXPECT_FALSE(check(ipv4() ? "127.0.0.1" : "::1").contains(warning));
}

TEST_P(Guard, AgentsHaveTheMachinesOwnAddresses) {
  const Folder folder("guard");
  folder.write("box.toml", "[[agent]]\nname = \"anonymous\"\ninternal = \"host\"\n");
  HostBox box(net.router, kGuards + Words{"--config", folder.file("box.toml")});
  const auto refusal = [&](const std::string& internal) {
    return box.agent().refusal(BoxAgent::request(at(internal, 30004), at(a().peer, 6004),
                                                 kProtocolUdp, Direction::kInbound));
  };
  EXPECT_EQ(refusal(me()), 0);
  EXPECT_EQ(refusal(ipv4() ? "10.0.0.1" : "2001:db8:1::1"), 0);
  EXPECT_NE(refusal(a().host), 0);
}

// --- Forwarding at the same time -----------------------------------------------------------------

class GuardedRouter : public Router {
 protected:
  std::string me() const { return own_address(a().host == kV4.host); }
};
INSTANTIATE_TEST_SUITE_P(Both, GuardedRouter, testing::ValuesIn(kRouters),
                         [](const auto& version) { return std::string(version.param); });

TEST_P(GuardedRouter, BothAtOnce) {
  RouterBox box(net.router, kGuards);
  const auto [host, peer] = udp();
  const Endpoint own{me(), 30004};
  const Udp guarded(net.router, own);
  EXPECT_TRUE(host.misses(peer, {a().host, 5004}));
  EXPECT_TRUE(guarded.misses(peer, own));
  EXPECT_TRUE(guarded.misses(host, own));
  box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  box.agent().enable(at(me(), 30004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(guarded.receive_one(peer.send_one(own)));
  EXPECT_TRUE(peer.receive_one(guarded.send_one({a().peer, 6004})));
  EXPECT_TRUE(guarded.misses(host, own));
}

// An outside port that is bound to a guarded port of this machine.
TEST_P(GuardedRouter, ANatTranslatesToThisMachine) {
  net.outside.shell(a().host == kV4.host ? "ip route add 198.51.100.0/24 via 192.0.2.1"
                                         : "ip route add 2001:db8:5::/64 via 2001:db8:2::1");
  RouterBox box(net.router, kGuards + nat());
  const Udp guarded(net.router, {me(), 30004});
  const Udp peer(net.outside, {a().peer, 6004});
  const auto rule = box.agent().enable(at(me(), 30004), at(a().peer, 6004));
  const auto outside = endpoint_of(rule.outside);
  EXPECT_TRUE(guarded.receive_one(peer.send_one(outside)));
  box.agent().remove(rule.pid);
  EXPECT_TRUE(guarded.misses(peer, outside));
}

}  // namespace
}  // namespace simco::test
