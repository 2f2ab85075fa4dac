// Peers that are not where their SDP says, several peers of one offer, peers that move; and a NAT
// without free ports: which packets pass.
#include <gtest/gtest.h>

#include "tests/integration/router/ng_router.hpp"

namespace simco::test {
namespace {

using nlohmann::json;

/// The first parameter: the IP version; the second: a NAT.
class NgPeers : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  NgPeers()
      : box(net.router, options()),
        ng(net, box.port()),
        host(net.inside, {a().host, 6000}),
        peer(net.outside, {a().peer, 7000}),
        other(net.outside, {a().peer2, 7000}) {}

  const Addresses& a() const { return std::string(std::get<0>(GetParam())) == "IPv4" ? kV4 : kV6; }
  bool is_nat() const { return std::get<1>(GetParam()); }
  std::string offer_from_host(json more = json::object()) {
    const auto reply = ng.offer("a", inner(), std::move(more));
    EXPECT_EQ(reply.value("result", ""), "ok") << reply;
    host_at = endpoint_of(reply);
    EXPECT_EQ(host_at.address, is_nat() ? a().pool : a().host);
    return reply.at("sdp");
  }
  virtual std::string inner() const { return sdp(a().host, 6000); }
  void answered(const json& reply) const { EXPECT_EQ(reply.value("result", ""), "ok") << reply; }

  /// Packets pass both ways, and the peer sees where it was told to send to.
  void talk(const Udp& with, const Endpoint& at) const {
    EXPECT_TRUE(host.gets(with, host_at));
    EXPECT_EQ(with.gets(host, at), host_at);
  }
  void nothing_passes(const Udp& with, const Endpoint& at) const {
    EXPECT_TRUE(host.misses(with, host_at));
    EXPECT_TRUE(with.misses(host, at));
  }
  void end() {
    answered(ng.ask({{"command", "delete"}, {"from-tag", "a"}}));
    EXPECT_TRUE(eventually([&] { return box.agent().rules().empty(); }));
    nothing_passes(peer, {a().peer, 7000});
    nothing_passes(other, {a().peer2, 7000});
  }

  Network net;
  RouterBox box;
  NgBox ng;
  const Udp host;
  const Udp peer;
  const Udp other;
  Endpoint host_at;  ///< as its SDP says, on the way out

 private:
  Words options() const {
    if (!is_nat()) return {};
    return {"--mode", "nat", "--outside", a().pool, "--ports", "30000-30999"};
  }
};

// A NAT of its own gives the phone other ports than its SDP says, and its SIP shows its address.
TEST_P(NgPeers, APhoneBehindANatOfItsOwn) {
  offer_from_host();
  const auto version = a().peer.contains(':') ? "IP6" : "IP4";
  const auto hidden = a().peer.contains(':') ? "fd00::2" : "192.168.1.2";
  answered(ng.answer("a", "b", sdp(hidden, 7000),
                     {{"flags", {"SIP-source-address"}}, {"received-from", {version, a().peer}}}));
  const Udp mapped(net.outside, {a().peer, 40123});
  talk(mapped, {a().peer, 40123});
  talk(peer, {a().peer, 7000});
  nothing_passes(other, {a().peer2, 7000});
  // To the call's own ports only.
  const Udp elsewhere(net.inside, {a().host, 6500});
  EXPECT_TRUE(elsewhere.misses(mapped, {host_at.address, 6500}));
  end();
  nothing_passes(mapped, {a().peer, 40123});
}

class NgCandidates : public NgPeers {
  std::string inner() const override {
    return sdp(a().host, 6000) + "a=ice-ufrag:x\r\na=ice-pwd:y\r\na=candidate:1 1 UDP 9 " +
           a().host + " 6000 typ host\r\n";
  }
};

TEST_P(NgCandidates, MayAllBeUsed) {
  const auto text = offer_from_host();
  EXPECT_TRUE(text.contains(" UDP 9 " + host_at.address + " " + std::to_string(host_at.port)));
  answered(ng.answer(
      "a", "b",
      sdp(a().peer, 7000) + "a=ice-ufrag:u\r\na=ice-pwd:v\r\na=candidate:1 1 UDP 9 " + a().peer +
          " 7000 typ host\r\na=candidate:2 1 UDP 8 " + a().peer2 + " 7100 typ relay\r\n"));
  talk(peer, {a().peer, 7000});
  const Udp relay(net.outside, {a().peer2, 7100});
  talk(relay, {a().peer2, 7100});
  const Udp elsewhere(net.inside, {a().host, 6500});
  EXPECT_TRUE(elsewhere.misses(relay, {host_at.address, 6500}));
  end();
}

TEST_P(NgPeers, SeveralEarlyDialogues) {
  offer_from_host();
  answered(ng.answer("a", "b1", sdp(a().peer, 7000)));
  talk(peer, {a().peer, 7000});
  nothing_passes(other, {a().peer2, 7000});
  answered(ng.answer("a", "b2", sdp(a().peer2, 7000)));
  talk(peer, {a().peer, 7000});
  talk(other, {a().peer2, 7000});
  end();
}

TEST_P(NgPeers, APeerThatMoves) {
  offer_from_host();
  answered(ng.answer("a", "b", sdp(a().peer, 7000)));
  talk(peer, {a().peer, 7000});
  answered(ng.offer("b", sdp(a().peer2, 7000), {{"to-tag", "a"}}));
  const auto again = ng.answer("b", "a", inner());
  EXPECT_EQ(endpoint_of(again), host_at);
  talk(other, {a().peer2, 7000});
  // The old rule goes after the new one is there, and after the reply.
  EXPECT_TRUE(ng.program().says("ended"));
  EXPECT_TRUE(eventually([&] { return box.agent().rules().size() == 1; }));
  nothing_passes(peer, {a().peer, 7000});
  end();
}

using NgPool = NgRouter;

TEST_P(NgPool, ThatIsFullOpensNothing) {
  RouterBox box(net.router, nat("30000-30001"));
  NgBox ng(net, box.port());
  const auto ends = ends_of_call();
  const auto rules = [&] { return box.agent().rules(); };
  const auto host_at = endpoint_of(ng.offer("a", sdp(a().host, 6000)));
  ng.answer("a", "b", sdp(a().peer, 7000));
  const auto of_call = rules();
  const json other = {{"call-id", "call-2"}};
  for (int i = 0; i < 3; ++i) {
    const auto refused = ng.offer("x", sdp(a().host2, 6000), other);
    EXPECT_EQ(refused.value("error-reason", ""), "Ran out of ports") << refused;
  }
  // Also where the answer needs the ports.
  EXPECT_EQ(ng.offer("y", sdp(a().peer2, 7000), {{"call-id", "call-3"}}).at("result"), "ok");
  const auto late = ng.answer("y", "z", sdp(a().host2, 6000), {{"call-id", "call-3"}});
  EXPECT_EQ(late.value("error-reason", ""), "Ran out of ports") << late;
  EXPECT_EQ(rules(), of_call);
  ends.talk(host_at, {a().peer, 7000});
  const CallEnds others(net, {a().host2, 6000}, {a().peer2, 7002}, a().peer);
  others.are_silent({a().host2, 6000}, {a().peer2, 7002});
  ng.ask({{"command", "delete"}, {"from-tag", "y"}, {"call-id", "call-3"}});
  ng.ask({{"command", "delete"}, {"from-tag", "a"}});
  EXPECT_TRUE(eventually([&] { return rules().empty(); }));
  ends.are_silent(host_at, {a().peer, 7000});
  // There is room again.
  const auto again = ng.offer("x", sdp(a().host2, 6000), other);
  EXPECT_EQ(endpoint_of(again), host_at);
}

const auto kBoth = testing::Combine(testing::Values("IPv4", "IPv6"), testing::Bool());
INSTANTIATE_TEST_SUITE_P(Versions, NgPeers, kBoth);
INSTANTIATE_TEST_SUITE_P(Versions, NgCandidates, kBoth);
INSTANTIATE_TEST_SUITE_P(Versions, NgPool, testing::Values("IPv4", "IPv6"));

}  // namespace
}  // namespace simco::test
