// simco-ng between a proxy and a middlebox whose kernel enforces its rules: packets of a call
// before it, during it and after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "simco/wire/tuple_text.hpp"
#include "tests/integration/router/ng_router.hpp"
#include "tests/support/folder.hpp"

namespace simco::test {
namespace {

using nlohmann::json;

using NgCourse = NgRouter;

// Rules are extended while simco-ng runs, and end with their lifetime when it is killed.
TEST_P(NgCourse, LifetimesEndWhatSimcoNgLeaves) {
  RouterBox box(net.router);
  const auto rules = [&] { return box.agent().rules(); };
  /// False if this machine is too slow to extend a rule in time.
  const auto is_extended = [&] {
    std::uint32_t lowest = 0xFFFF'FFFF;
    for (;;) try {
        const auto pids = rules();
        if (pids.empty()) return false;
        const auto left = box.agent().status(pids[0]).lifetime.seconds;
        if (left > lowest) return true;
        lowest = left;
        std::this_thread::sleep_for(kLook);
      } catch (const boost::system::system_error&) {
        return false;  // it has ended between the two requests
      }
  };
  bool extended = false;
  for (const char* lifetime : {"6", "60"}) {
    NgBox ng(net, box.port(), {"--lifetime", lifetime});
    ng.offer("a", sdp(a().host, 6000));
    ng.answer("a", "b", sdp(a().peer, 7000));
    extended = is_extended();
    ng.kill();
    EXPECT_TRUE(eventually([&] { return rules().empty(); }));
    if (extended) break;
  }
  EXPECT_TRUE(extended);
}

// With --state, a killed simco-ng knows its calls after its start, extends their rules and ends
// them.
TEST_P(NgCourse, CallsSurviveARestart) {
  const Folder folder("ng");
  RouterBox box(net.router, nat());
  NgBox ng(net, box.port(), {"--state", folder.path + "/calls.db"});
  const auto ends = ends_of_call();
  const auto host_at = endpoint_of(ng.offer("a", sdp(a().host, 6000)));
  ng.answer("a", "b", sdp(a().peer, 7000));
  const auto rules = [&] { return box.agent().rules(); };
  const auto before = rules();
  ng.kill();
  ends.talk(host_at, {a().peer, 7000});
  ng.start();
  EXPECT_TRUE(ng.program().says("restored 1 calls"));
  EXPECT_EQ(endpoint_of(ng.offer("a", sdp(a().host, 6000), {{"to-tag", "b"}})), host_at);
  ng.answer("a", "b", sdp(a().peer, 7000));
  EXPECT_EQ(rules(), before);
  ends.talk(host_at, {a().peer, 7000});
  ng.ask({{"command", "delete"}, {"from-tag", "a"}});
  EXPECT_TRUE(eventually([&] { return rules().empty(); }));
}

// After a lost session, a firewall gets its rules again; other calls are served as before.
TEST_P(NgCourse, TheMiddleboxIsRestarted) {
  const std::uint16_t port = 7626;
  auto box = std::make_unique<RouterBox>(net.router, Words{}, port);
  NgBox ng(net, port);
  const auto ends = ends_of_call();
  ng.offer("a", sdp(a().host, 6000));
  ng.answer("a", "b", sdp(a().peer, 7000));
  ends.talk({a().host, 6000}, {a().peer, 7000});
  box->kill();
  EXPECT_TRUE(ng.program().says("is lost"));
  box = std::make_unique<RouterBox>(net.router, Words{}, port);
  EXPECT_TRUE(ng.program().says("was lost"));
  EXPECT_TRUE(eventually([&] { return !box->agent().rules().empty(); }));
  ends.talk({a().host, 6000}, {a().peer, 7000});
}

// rtpengine behind the middlebox, or beside it on one machine, does the work: of its range of ports
// only those of the call are open, each to the party that it serves.
class NgUpstream : public testing::Test {
 protected:
  /// A call between two parties outside, through rtpengine on `host`, at `address`.
  void call(const NetworkNamespace& host, const std::string& address, RouterBox& box,
            const Words& options) const;
  const Network net;
};

void NgUpstream::call(const NetworkNamespace& host, const std::string& address, RouterBox& box,
                      const Words& options) const {
  const auto rtpengine =
      start(host, {"/usr/bin/rtpengine", "--foreground", "--log-stderr", "--table=-1",
                   "--interface=" + address, "--listen-ng=" + address + ":2223", "--port-min=30000",
                   "--port-max=30099"});
  NgBox ng(net.router, {"127.0.0.1", box.port()}, options + Words{"--upstream", address + ":2223"});
  // It may still be starting.
  EXPECT_TRUE(eventually([&] { return ng.ask({{"command", "ping"}}).at("result") == "pong"; }));
  const Udp a(net.outside, {kV4.peer, 7000});
  const Udp b(net.outside, {kV4.peer2, 8000});
  const Udp stranger(net.outside, {kV4.peer2, 9000});
  const auto offered = ng.offer("a", sdp(kV4.peer, 7000));
  const auto for_b = endpoint_of(offered);
  const auto for_a = endpoint_of(ng.answer("a", "b", sdp(kV4.peer2, 8000)));
  EXPECT_EQ(for_a.address, address);
  EXPECT_NE(for_a, for_b);
  // Packets that look like RTP are passed on.
  const std::string rtp = std::string("\x80\0", 2) + std::string(170, 'x');
  const auto passes = [&](const Udp& from, const Endpoint& at, const Udp& to) {
    from.send(at, rtp);
    return to.receive_one(rtp, kPatience).has_value();
  };
  EXPECT_TRUE(passes(a, for_a, b));
  EXPECT_TRUE(passes(b, for_b, a));
  // rtpengine would take the stranger for b, whose address it has not confirmed yet.
  for (const auto& at : {for_a, for_b}) stranger.send(at, rtp);
  EXPECT_TRUE(passes(a, for_a, b));
  EXPECT_FALSE(stranger.readable(kStaysAway));
  const auto listed = [&] { return box.agent().rules(); };
  Words open;
  for (const auto pid : listed()) {
    const auto status = box.agent().status(pid);
    open.push_back(to_text(*status.internal) + " " + to_text(*status.external));
  }
  std::ranges::sort(open);
  Words wanted = {at(for_a.address, for_a.port, 2) + " " + at(kV4.peer, 7000, 2),
                  at(for_b.address, for_b.port, 2) + " " + at(kV4.peer2, 8000, 2)};
  std::ranges::sort(wanted);
  EXPECT_EQ(open, wanted);
  const int before = ng.requests();
  const auto ended = ng.ask({{"command", "delete"}, {"from-tag", "a"}});
  EXPECT_EQ(ended.at("result"), "ok");
  // rtpengine's own, unless an earlier request, whose reply was late, has ended the call
  EXPECT_TRUE(ended.contains("totals") || ng.requests() > before + 1);
  EXPECT_TRUE(eventually([&] { return listed().empty(); }));
}

TEST_F(NgUpstream, OpensThePortsOfRtpengine) {
  RouterBox box(net.router);
  call(net.inside, "10.0.0.3", box, {});
}

TEST_F(NgUpstream, OpensThePortsOfRtpengineOnTheSameMachine) {
  RouterBox box(net.router, {"--guard", "udp:30000-30099"}, 0, {});
  call(net.router, "192.0.2.1", box, {"--internal", "192.0.2.1"});
}

INSTANTIATE_TEST_SUITE_P(Versions, NgCourse, testing::Values("IPv4", "IPv6"));

}  // namespace
}  // namespace simco::test
