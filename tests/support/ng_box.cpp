#include "tests/support/ng_box.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/ng_reply.hpp"

namespace simco::test {
namespace {

using nlohmann::json;

/// How often a request is repeated, and after what time, as proxies do.
constexpr int kTries = 60;
constexpr std::chrono::milliseconds kRepeatAfter{1000};
/// Packets of each party of a call: a socket keeps as many however slow the machine is.
constexpr std::size_t kPackets = 100;

Endpoint next(const Endpoint& at) { return {at.address, static_cast<std::uint16_t>(at.port + 1)}; }

}  // namespace

NgBox::NgBox(const NetworkNamespace& host, const Endpoint& middlebox, const Words& options,
             std::uint16_t port)
    : host_(host),
      proxy_(host, {"127.0.0.1", 0}),
      words_(Words{"simco-ng", "--listen", "127.0.0.1:" + std::to_string(port), "--middlebox",
                   middlebox.address + ":" + std::to_string(middlebox.port), "--internal",
                   "10.0.0.0/24,2001:db8:1::/64"} +
             options) {
  start();
}

void NgBox::start() {
  program_ = test::start(host_, words_);
  at_ = {"127.0.0.1", program_->listening_port("udp")};
  EXPECT_TRUE(program_->says("session with the middlebox"));
}

void NgBox::kill() {
  program_->signal(SIGKILL);
  program_->wait();
}

json NgBox::ask(const json& request) {
  return reply_in_time([&] { return ask_once(request); });
}

json NgBox::ask_once(json request) {
  const auto cookie = "c" + std::to_string(++cookies_);
  if (!request.contains("call-id")) request["call-id"] = "call-1";
  for (int i = 0; i < kTries; ++i) {
    proxy_.send(at_, cookie + " " + request.dump());
    while (const auto packet = proxy_.receive(kRepeatAfter)) {
      if (packet->text.starts_with(cookie + " ")) {
        return json::parse(packet->text.substr(cookie.size() + 1));
      }
    }
  }
  ADD_FAILURE() << "no reply to " << request;
  return json::object();
}

json NgBox::offer(const std::string& from, const std::string& sdp, json more) {
  more.update({{"command", "offer"}, {"from-tag", from}, {"sdp", sdp}});
  return ask(more);
}

json NgBox::answer(const std::string& from, const std::string& to, const std::string& sdp,
                   json more) {
  more.update({{"command", "answer"}, {"from-tag", from}, {"to-tag", to}, {"sdp", sdp}});
  return ask(more);
}

CallEnds::CallEnds(const Network& net, const Endpoint& host_rtp, const Endpoint& peer_rtp,
                   const std::string& stranger_address)
    : host(net.inside, host_rtp),
      host_rtcp(net.inside, next(host_rtp)),
      peer(net.outside, peer_rtp),
      peer_rtcp(net.outside, next(peer_rtp)),
      stranger(net.outside, {stranger_address, peer_rtp.port}) {}

void CallEnds::talk(const Endpoint& host_at, const Endpoint& peer_at) const {
  struct Flow {
    const Udp& from;
    Endpoint to;
    const Udp& at;
  };
  const Flow flows[] = {{peer, host_at, host},
                        {host, peer_at, peer},
                        {peer_rtcp, next(host_at), host_rtcp},
                        {host_rtcp, next(peer_at), peer_rtcp}};
  for (std::size_t i = 0; i < kPackets; ++i) {
    for (const auto& flow : flows) flow.from.send(flow.to, std::to_string(i));
    for (const auto& to : {host_at, next(host_at)}) stranger.send(to, "stranger");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const auto& flow : flows) {
    std::set<std::string> arrived;
    while (arrived.size() < kPackets) {
      const auto packet = flow.at.receive(kPatience);
      ASSERT_TRUE(packet) << kPackets - arrived.size() << " packets are lost";
      EXPECT_TRUE(arrived.insert(packet->text).second) << packet->text;
    }
    EXPECT_FALSE(arrived.contains("stranger"));
    EXPECT_FALSE(flow.at.receive(std::chrono::milliseconds(0)));
  }
}

void CallEnds::are_silent(const Endpoint& host_at, const Endpoint& peer_at) const {
  EXPECT_TRUE(host.misses(peer, host_at));
  EXPECT_TRUE(peer.misses(host, peer_at));
  EXPECT_TRUE(host_rtcp.misses(peer_rtcp, next(host_at)));
  EXPECT_TRUE(peer_rtcp.misses(host_rtcp, next(peer_at)));
  EXPECT_TRUE(host.misses(stranger, host_at));
}

}  // namespace simco::test
