// Dropped packets are counted by direction and reason, and the metrics have the counts.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/integration/router/router.hpp"
#include "tests/support/http.hpp"

namespace simco::test {
namespace {

constexpr std::uint16_t kMetricsPort = 9464;  // in a namespace of our own
constexpr int kPackets = 7;

class Drops : public Router {
 protected:
  Words with_metrics(const Words& options = {}) const {
    return options + Words{"--metrics", "127.0.0.1:" + std::to_string(kMetricsPort)};
  }
  /// The current value of the metrics; -1: none.
  int dropped(const std::string& direction, const std::string& reason) const {
    const auto text = net.router.run([] { return http_get(kMetricsPort, "/metrics"); });
    const std::string name =
        "simco_dropped_packets_total{direction=\"" + direction + "\",reason=\"" + reason + "\"} ";
    const auto at = text.find(name);
    return at == std::string::npos ? -1 : std::stoi(text.substr(at + name.size()));
  }
  static void send(const Udp& from, const Endpoint& to) {
    for (int i = 0; i < kPackets; ++i) from.send(to);
  }
  /// So many packets, and no more, have been dropped. Those on their way are waited for.
  bool counts(const std::string& direction, const std::string& reason, int packets) const {
    return eventually([&] { return dropped(direction, reason) >= packets; }) &&
           dropped(direction, reason) == packets;
  }
};

TEST_P(Drops, WithoutARuleAndByADisableRule) {
  RouterBox box(net.router, with_metrics());
  const auto [host, peer] = udp();
  EXPECT_TRUE(counts("inbound", "no-rule", 0));
  send(peer, {a().host, 5004});
  EXPECT_TRUE(counts("inbound", "no-rule", kPackets));
  EXPECT_TRUE(counts("outbound", "no-rule", 0));
  send(host, {a().peer, 6004});
  EXPECT_TRUE(counts("outbound", "no-rule", kPackets));
  // Packets that pass are not counted.
  const auto rule = box.agent().enable(at(a().host, 5004), at(a().peer, 6004));
  EXPECT_TRUE(host.gets(peer, {a().host, 5004}));
  EXPECT_TRUE(counts("inbound", "no-rule", kPackets));
  // A further set, and with it further rules in the kernel: the counters go on.
  box.agent().disable(at(a().host, 5006), at(a().peer, 6006));
  const Udp other(net.outside, {a().peer, 6006});
  send(other, {a().host, 5006});
  EXPECT_TRUE(counts("inbound", "disable-rule", kPackets));
  EXPECT_TRUE(counts("inbound", "no-rule", kPackets));
  box.agent().remove(rule.pid);
  send(peer, {a().host, 5004});
  EXPECT_TRUE(counts("inbound", "no-rule", 2 * kPackets));
}

TEST_P(Drops, ForgedSources) {
  const bool ipv4 = a().host == kV4.host;
  net.router.shell(
      "for i in all ext0 int0; do echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; done");
  const std::string forged = ipv4 ? "10.0.0.77" : "2001:db8:1::77";
  net.outside.shell("ip addr add " + forged + (ipv4 ? "/32" : "/128 nodad") + " dev lo");
  RouterBox box(net.router, with_metrics());
  box.agent().enable(at(a().host, 5004), "any", kProtocolUdp, Direction::kInbound);
  const Udp liar(net.outside, {forged, 6004});
  send(liar, {a().host, 5004});
  EXPECT_TRUE(counts("inbound", "forged-source", kPackets));
}

TEST_P(Drops, WhatTheNatDoesNotTranslate) {
  const bool ipv4 = a().host == kV4.host;
  net.router.shell("ip addr add " + a().pool + (ipv4 ? "/32" : "/128 nodad") + " dev ext0");
  RouterBox box(net.router, with_metrics(nat()));
  const Udp peer(net.outside, {a().peer, 6004});
  send(peer, {a().host, 5004});  // a host's own address
  EXPECT_TRUE(counts("inbound", "no-binding", kPackets));
  send(peer, {a().pool, 30500});  // a port that is not bound
  EXPECT_TRUE(counts("inbound", "no-binding", 2 * kPackets));
  EXPECT_TRUE(counts("inbound", "no-rule", 0));
}

TEST_P(Drops, AreStillCountedAfterOthersHaveFlushedTheTable) {
  RouterBox box(net.router, with_metrics({"--claim-table", "no"}));
  const Udp peer(net.outside, {a().peer, 6004});
  send(peer, {a().host, 5004});
  EXPECT_TRUE(counts("inbound", "no-rule", kPackets));
  net.router.shell("nft flush ruleset");
  EXPECT_TRUE(box.says("is restored"));
  send(peer, {a().host, 5004});
  EXPECT_TRUE(counts("inbound", "no-rule", 2 * kPackets));
}

INSTANTIATE_TEST_SUITE_P(Versions, Drops, testing::Values("IPv4", "IPv6"),
                         [](const auto& version) { return std::string(version.param); });

}  // namespace
}  // namespace simco::test
