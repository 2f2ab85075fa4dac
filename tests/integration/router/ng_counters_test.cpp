// The traffic of calls, as simco-ng tells it, and calls whose media are silent: with packets.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tests/integration/router/ng_router.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/http.hpp"

namespace simco::test {
namespace {

using nlohmann::json;

class NgCounting : public NgRouter {};

const Words kCounting = {"--counters", "--inspect", "127.0.0.1:9466"};

// Totals of a call are the packets of it that have passed, RTP and RTCP apart.
TEST_P(NgCounting, QueryAndDeleteTellWhatHasPassed) {
  constexpr int kIn = 20;
  constexpr int kOut = 15;
  RouterBox box(net.router, nat() + kCounting);
  NgBox ng(net, box.port(), {"--inspect", "127.0.0.1:9466"});
  const auto ends = ends_of_call();
  const auto host_at = endpoint_of(ng.offer("a", sdp(a().host, 6000)));
  ng.answer("a", "b", sdp(a().peer, 7000));
  const auto totals = [](const json& reply) { return reply.at("totals"); };
  const auto query = [&] { return totals(ng.ask({{"command", "query"}})); };
  EXPECT_EQ(query().at("RTP").at("packets"), 0);
  for (int i = 0; i < kIn; ++i) ends.peer.send(host_at, "media");
  for (int i = 0; i < kOut; ++i) ends.host.send({a().peer, 7000}, "media");
  ends.peer_rtcp.send({host_at.address, static_cast<std::uint16_t>(host_at.port + 1)}, "report");
  ends.stranger.send(host_at, "media");
  const json expected = {
      {"RTP", {{"packets", kIn + kOut}, {"bytes", 5 * (kIn + kOut)}, {"errors", 0}}},
      {"RTCP", {{"packets", 1}, {"bytes", 6}, {"errors", 0}}}};
  EXPECT_TRUE(eventually([&] { return query() == expected; })) << query();
  const int before = ng.requests();
  const auto ended = ng.ask({{"command", "delete"}, {"from-tag", "a"}});
  // Unless an earlier request, whose reply was late, has ended the call.
  if (ng.requests() == before + 1) {
    EXPECT_EQ(totals(ended), expected);
  }
}

// The middlebox then counts from 0, even if that is soon more than it had counted before.
TEST_P(NgCounting, TotalsGoOnAfterTheMiddleboxIsRestarted) {
  constexpr int kBefore = 3;
  constexpr int kAfter = 20;
  const Folder folder("ng-counting");
  const std::uint16_t port = 7626;
  const auto options = kCounting + Words{"--state", folder.file("rules.db")};
  auto box = std::make_unique<RouterBox>(net.router, options, port);
  NgBox ng(net, port, {"--inspect", "127.0.0.1:9466"});
  const auto ends = ends_of_call();
  ng.offer("a", sdp(a().host, 6000));
  ng.answer("a", "b", sdp(a().peer, 7000));
  const auto packets = [&] {
    return ng.ask({{"command", "query"}}).at("totals").at("RTP").at("packets").get<int>();
  };
  for (int i = 0; i < kBefore; ++i) ends.peer.send({a().host, 6000}, "media");
  ASSERT_TRUE(eventually([&] { return packets() == kBefore; }));
  box->kill();
  box = std::make_unique<RouterBox>(net.router, options, port);
  for (int i = 0; i < kAfter; ++i) ends.peer.send({a().host, 6000}, "media");
  EXPECT_TRUE(eventually([&] { return packets() == kBefore + kAfter; })) << packets();
}

TEST_P(NgCounting, ACallWithoutMediaIsEnded) {
  RouterBox box(net.router, kCounting);
  const std::string metrics = "127.0.0.1:9467";
  NgBox ng(net, box.port(),
           {"--inspect", "127.0.0.1:9466", "--media-timeout", "1", "--metrics", metrics});
  ng.offer("a", sdp(a().host, 6000));
  ng.answer("a", "b", sdp(a().peer, 7000));
  EXPECT_TRUE(ng.program().says("ended: no packet of its media for "));
  EXPECT_TRUE(eventually([&] { return box.agent().rules().empty(); }));
  EXPECT_TRUE(net.router.run([] { return http_get(9467, "/metrics"); })
                  .contains("simco_ng_media_timeouts_total 1"));
}

INSTANTIATE_TEST_SUITE_P(Versions, NgCounting, testing::Values("IPv4", "IPv6"));

}  // namespace
}  // namespace simco::test
