// The counts of rules with real packets: both ways together, and after renewals and others' changes
// of the table.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <thread>

#include "agent/rule_traffic.hpp"
#include "tests/integration/router/router.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/http.hpp"

namespace simco::test {
namespace {

constexpr std::uint16_t kInspectPort = 9466;  // in a namespace of our own
constexpr int kInPackets = 7;
constexpr int kOutPackets = 4;
constexpr int kFurtherPackets = 3;

class Counters : public Router {
 protected:
  Words counting(const Words& options = {}) const {
    return options + Words{"--counters", "--inspect", "127.0.0.1:" + std::to_string(kInspectPort)};
  }
  std::string ask(const std::string& path) const {
    return net.router.run([&] { return http_get(kInspectPort, path); });
  }
  agent::RuleTraffics all(std::vector<PolicyRuleId> pids) const {
    const auto answer = ask(agent::inspection_path(pids));
    const auto read = agent::read_inspection(answer);
    EXPECT_TRUE(read) << answer;
    return read.value_or(agent::RuleTraffics{});
  }
  agent::RuleTraffic of(PolicyRuleId pid) const {
    const auto counted = all({pid});
    EXPECT_TRUE(counted.contains(pid)) << pid.value;
    return counted.contains(pid) ? counted.at(pid) : agent::RuleTraffic{};
  }
  /// So many packets have been counted, and no more. Those on their way are waited for.
  testing::AssertionResult counts(PolicyRuleId pid, std::uint64_t packets) const {
    eventually([&] { return of(pid).count.packets >= packets; });
    const auto counted = of(pid).count.packets;
    if (counted == packets) return testing::AssertionSuccess();
    return testing::AssertionFailure() << counted << " packets, not " << packets;
  }
  static void send(const Udp& from, const Endpoint& to, int packets) {
    for (int i = 0; i < packets; ++i) from.send(to);
  }
  unsigned headers() const { return a().host == kV4.host ? 28 : 48; }
};

TEST_P(Counters, PacketsAndOctetsOfBothDirectionsTogether) {
  RouterBox box(net.router, counting());
  const auto [host, peer] = udp();
  const Udp stranger(net.outside, {a().peer2, 6004});
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  const auto other = box.agent().enable(at(a().host, 5004), at(a().peer, 6006));
  EXPECT_TRUE(counts(rule.pid, 0));
  EXPECT_FALSE(of(rule.pid).last_packet);
  send(peer, {a().host, 5004}, kInPackets);
  EXPECT_TRUE(counts(rule.pid, kInPackets));
  send(host, {a().peer, 6004}, kOutPackets);
  send(stranger, {a().host, 5004}, kInPackets);
  EXPECT_TRUE(counts(rule.pid, kInPackets + kOutPackets));
  const auto traffic = of(rule.pid);
  EXPECT_EQ(traffic.count.octets, (kInPackets + kOutPackets) * (headers() + 1));
  ASSERT_TRUE(traffic.last_packet);
  EXPECT_LE(traffic.last_packet->until, traffic.last_packet->after);
  EXPECT_LE(traffic.last_packet->after, traffic.complete);
  EXPECT_TRUE(counts(other.pid, 0));
  box.agent().remove(rule.pid);
  EXPECT_FALSE(all({rule.pid}).contains(rule.pid));
}

TEST_P(Counters, SimcoctlShowsThem) {
  RouterBox box(net.router, counting());
  const auto [host, peer] = udp();
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  box.agent().enable(at(a().host, 5006), at(a().peer, 6006));
  send(peer, {a().host, 5004}, kInPackets);
  ASSERT_TRUE(counts(rule.pid, kInPackets));
  const auto ctl = [&](const std::string& words) {
    return net.router.output(SIMCO_BIN_DIR "/simcoctl --connect 127.0.0.1:" +
                             std::to_string(box.port()) + " " + words + " 2>&1");
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.contains(part) ? testing::AssertionSuccess()
                               : testing::AssertionFailure() << text << "without " << part;
  };
  const auto pid = std::to_string(rule.pid.value);
  const auto octets = std::to_string(kInPackets * (headers() + 1));
  const std::string inspect = " --inspect 127.0.0.1:" + std::to_string(kInspectPort);
  EXPECT_TRUE(
      has(ctl("status " + pid + inspect), ", 7 packets, " + octets + " bytes, last packet "));
  EXPECT_TRUE(has(ctl("--json status " + pid + inspect),
                  R"("traffic":{"packets":7,"octets":)" + octets + R"(,"last_packet":{"after":)"));
  const auto table = ctl("list" + inspect);
  EXPECT_TRUE(has(table, "PACKETS  BYTES  LAST PACKET\n"));
  EXPECT_TRUE(has(table, "  7        " + octets));
  EXPECT_TRUE(has(table, "  0        0      -\n"));
  EXPECT_FALSE(ctl("list").contains("PACKETS"));
  const auto elsewhere = ctl("status " + pid + " --inspect 127.0.0.1:1");
  EXPECT_TRUE(has(elsewhere, "simcoctl: --inspect 127.0.0.1:1: Connection refused\n"));
  EXPECT_TRUE(has(elsewhere, "rule " + pid + ": enabled"));
}

TEST_P(Counters, PortsOfAPairAndOfARangeForThemselves) {
  RouterBox box(net.router, counting());
  for (const int ports : {2, 5}) {
    const auto rule = box.agent().enable(at(a().host, 5004, ports), at(a().peer, 6004, ports));
    std::vector<Udp> hosts;
    std::vector<Udp> peers;
    for (int i = 0; i < ports; ++i) {
      hosts.emplace_back(net.inside, Endpoint{a().host, static_cast<std::uint16_t>(5004 + i)});
      peers.emplace_back(net.outside, Endpoint{a().peer, static_cast<std::uint16_t>(6004 + i)});
    }
    for (int i = 0; i < ports; ++i) {
      send(peers[i], {a().host, static_cast<std::uint16_t>(5004 + i)}, i + 1);
      send(hosts[i], {a().peer, static_cast<std::uint16_t>(6004 + i)}, i + 1);
    }
    EXPECT_TRUE(counts(rule.pid, static_cast<std::uint64_t>(ports * (ports + 1))));
    const auto traffic = of(rule.pid);
    ASSERT_EQ(traffic.ports.size(), static_cast<std::size_t>(ports));
    for (int i = 0; i < ports; ++i) {
      const auto port = static_cast<std::uint16_t>(5004 + i);
      EXPECT_EQ(traffic.ports.at(port).packets, static_cast<std::uint64_t>(2 * (i + 1)));
    }
    box.agent().remove(rule.pid);
  }
}

TEST_P(Counters, WildcardsAndIntervalsToo) {
  RouterBox box(net.router, counting());
  const auto [host, peer] = udp();
  const Udp peer2(net.outside, {a().peer2, 6005});
  auto& agent = box.agent();
  const auto in = agent.enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  const auto out =
      agent.enable(at(a().host, 4000, 2000), a().peer, kProtocolUdp, Direction::kOutbound);
  send(peer, {a().host, 5004}, kInPackets);
  send(peer2, {a().host, 5004}, kInPackets);
  send(host, {a().peer, 6004}, kOutPackets);
  EXPECT_TRUE(counts(in.pid, 2 * kInPackets));
  EXPECT_TRUE(counts(out.pid, kOutPackets));
  EXPECT_TRUE(of(out.pid).ports.empty());
  const auto block = agent.disable(a().host, a().peer, kProtocolUdp);
  send(peer, {a().host, 5004}, kFurtherPackets);
  EXPECT_TRUE(counts(block.pid, kFurtherPackets)) << "what it blocks";
}

TEST_P(Counters, ThroughANat) {
  net.router.shell("ip addr add " + a().pool + (a().host == kV4.host ? "/32" : "/128 nodad") +
                   " dev ext0");
  RouterBox box(net.router, counting(nat()));
  const auto [host, peer] = udp();
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  send(peer, endpoint_of(rule.outside), kInPackets);
  send(host, {a().peer, 6004}, kOutPackets);
  EXPECT_TRUE(counts(rule.pid, kInPackets + kOutPackets));
  EXPECT_TRUE(of(rule.pid).ports.contains(5004));
}

// A renewal deletes the element and adds it, with a counter at 0, in one commit.
TEST_P(Counters, RenewalsLoseNoPacket) {
  RouterBox box(net.router, counting());
  const auto [host, peer] = udp();
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  constexpr int kRenewals = 200;
  Stream stream(peer, {a().host, 5004}, host);
  for (int i = 0; i < kRenewals; ++i) box.agent().renew(rule.pid, kLongLifetimeS + i);
  stream.finish();
  ASSERT_EQ(stream.lost(), 0);
  const auto passed = stream.sent() + 1;  // and the word that it ends
  EXPECT_TRUE(counts(rule.pid, static_cast<std::uint64_t>(passed)));
}

// Rules that say the same are one element of a set.
TEST_P(Counters, ARuleCountsFromItsOwnBeginning) {
  RouterBox box(net.router, counting());
  const auto [host, peer] = udp();
  const auto rule = [&](std::uint32_t lifetime_s) {
    return box.agent().enable(at(a().host, 5004), at(a().peer, 6004), kProtocolUdp,
                              Direction::kBidirectional, lifetime_s);
  };
  const auto first = rule(kLongLifetimeS);
  // One that ends sooner leaves the element as it is, one that ends later writes it again.
  for (const std::uint32_t lifetime_s : {kLongLifetimeS / 2, kLongLifetimeS * 2}) {
    const auto before = of(first.pid).count.packets;
    send(peer, {a().host, 5004}, kInPackets);
    EXPECT_TRUE(counts(first.pid, before + kInPackets));
    std::this_thread::sleep_for(kLook);  // ages are in milliseconds
    const auto second = rule(lifetime_s);
    EXPECT_TRUE(counts(second.pid, 0));
    EXPECT_FALSE(of(second.pid).last_packet);
    const auto both = all({first.pid, second.pid});
    EXPECT_LT(both.at(second.pid).complete, both.at(first.pid).complete);
    send(host, {a().peer, 6004}, kOutPackets);
    EXPECT_TRUE(counts(second.pid, kOutPackets));
    EXPECT_TRUE(counts(first.pid, before + kInPackets + kOutPackets));
    EXPECT_TRUE(of(second.pid).last_packet);
    box.agent().remove(second.pid);
    EXPECT_TRUE(counts(first.pid, before + kInPackets + kOutPackets));
  }
  const auto second = rule(kLongLifetimeS);
  box.agent().remove(first.pid);
  send(peer, {a().host, 5004}, kFurtherPackets);
  EXPECT_TRUE(counts(second.pid, kFurtherPackets));
}

TEST_P(Counters, GoOnAfterAReload) {
  const Folder folder("counters");
  const auto file = folder.path + "/box.toml";
  std::ofstream(file) << "allow-anonymous = true\n";
  RouterBox box(net.router, counting({"--config", file}));
  const auto [host, peer] = udp();
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  send(peer, {a().host, 5004}, kInPackets);
  EXPECT_TRUE(counts(rule.pid, kInPackets));
  box.program().signal(SIGHUP);
  EXPECT_TRUE(box.says("configuration reloaded"));
  send(host, {a().peer, 6004}, kOutPackets);
  EXPECT_TRUE(counts(rule.pid, kInPackets + kOutPackets));
}

// The kernel's counters are gone, earlier readings are not.
TEST_P(Counters, GoOnFromWhatWasReadAfterOthersHaveFlushedTheTable) {
  RouterBox box(net.router, counting({"--claim-table", "no"}));
  const auto [host, peer] = udp();
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  send(peer, {a().host, 5004}, kInPackets);
  EXPECT_TRUE(counts(rule.pid, kInPackets));
  const auto flushed = std::chrono::steady_clock::now();
  net.router.shell("nft flush ruleset");
  EXPECT_TRUE(box.says("is restored"));
  EXPECT_TRUE(counts(rule.pid, kInPackets));
  const auto complete = of(rule.pid).complete;
  EXPECT_LT(complete, std::chrono::steady_clock::now() - flushed)
      << "what passed in between is not known";
  send(peer, {a().host, 5004}, kFurtherPackets);
  EXPECT_TRUE(counts(rule.pid, kInPackets + kFurtherPackets));
  // The elements alone.
  const std::string set =
      a().host == kV4.host ? "enable4_32.16_32.16_proto" : "enable6_128.16_128.16_proto";
  net.router.shell("nft flush set inet simco " + set);
  EXPECT_TRUE(box.says("restored 1 elements"));
  EXPECT_TRUE(counts(rule.pid, kInPackets + kFurtherPackets));
  send(peer, {a().host, 5004}, 1);
  EXPECT_TRUE(counts(rule.pid, kInPackets + kFurtherPackets + 1));
}

TEST_P(Counters, BeginAgainAfterARestart) {
  const Folder folder("counters");
  const Words options = {"--state", folder.path + "/rules.db"};
  const auto [host, peer] = udp();
  auto box = std::make_unique<RouterBox>(net.router, counting(options));
  const auto rule = box->agent().enable(at(a().host, 5004), at(a().peer, 6004));
  send(peer, {a().host, 5004}, kInPackets);
  EXPECT_TRUE(counts(rule.pid, kInPackets));
  box->kill();
  box = std::make_unique<RouterBox>(net.router, counting(options));
  EXPECT_TRUE(counts(rule.pid, 0));
  send(peer, {a().host, 5004}, 1);
  EXPECT_TRUE(counts(rule.pid, 1));
}

// Debian 12's nft shows them, and loads its own output.
TEST_P(Counters, NftKnowsThem) {
  RouterBox box(net.router, counting({"--claim-table", "no"}));
  const auto [host, peer] = udp();
  auto& agent = box.agent();
  const auto rule = agent.enable(at(a().host, 5004), at(a().peer, 6004));
  agent.enable(at(a().host, 4000, 2000), a().peer, kProtocolUdp, Direction::kOutbound);
  send(peer, {a().host, 5004}, 1);
  EXPECT_TRUE(counts(rule.pid, 1));
  const auto ruleset = net.router.output("nft list ruleset");
  EXPECT_TRUE(ruleset.contains("counter packets 1 bytes ")) << ruleset;
  box.kill();
  const Folder folder("counters");
  net.router.shell("nft list ruleset > " + folder.path + "/saved && nft flush ruleset && nft -f " +
                   folder.path + "/saved");
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
}

TEST_P(Counters, NothingIsCountedWithoutTheOption) {
  RouterBox box(net.router, {"--inspect", "127.0.0.1:" + std::to_string(kInspectPort)});
  const auto rule = box.agent().enable(at(a().host, 5004, 2), at(a().peer, 6004, 2));
  const auto elements = net.router.output("nft list ruleset");
  EXPECT_TRUE(elements.contains("15_")) << "a pair is one element";
  const auto answer = ask(agent::inspection_path(std::vector{rule.pid}));
  EXPECT_FALSE(agent::read_inspection(answer));
  for (const auto* path :
       {"/", "/rules", "/rules/", "/rules/x", "/rules/1,", "/rules/4294967296"}) {
    EXPECT_THROW(ask(path), std::runtime_error) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Counters, testing::ValuesIn(kRouters),
                         [](const auto& version) { return std::string(version.param); });

}  // namespace
}  // namespace simco::test
