// A call of two SIP user agents (SIPp) through Kamailio with the configuration that its package
// has: neither knows that there is a middlebox.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "tests/integration/router/router.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/ng_box.hpp"

namespace simco::test {
namespace {

const Endpoint kProxy{"10.0.0.1", 5060};
/// The line that a scenario writes when it has the other's SDP.
constexpr const char* kHasSdp = "the other one has";
constexpr std::uint16_t kNgPort = 2223;  ///< as the configuration has it

/// Kamailio on the router.
class Kamailio {
 public:
  explicit Kamailio(const NetworkNamespace& router) : folder_("kamailio") {
    program_ = start(
        router,
        {"/bin/sh", "-c",
         "exec /usr/sbin/kamailio -f /etc/kamailio/kamailio.cfg -A WITH_NAT -A WITH_RTPENGINE "
         "-DD -E -l udp:" +
             kProxy.address + ":5060 -n 2 -m 64 -M 8 -Y " + folder_.path + " -P " + folder_.path +
             "/pid"});
  }
  /// It ends its processes itself.
  ~Kamailio() {
    program_->signal(SIGTERM);
    program_->wait();
  }

 private:
  Folder folder_;
  std::unique_ptr<Program> program_;
};

/// A SIP user agent that follows a scenario of tests/integration/router/sip.
class UserAgent {
 public:
  /// `media`: the address in its SDP; empty: the one of its SIP.
  UserAgent(const NetworkNamespace& host, const std::string& scenario, const Endpoint& local,
            const std::string& media = {})
      : host_(host), local_(local), folder_("sipp-" + scenario) {
    ::setenv("TERM", "dumb", 1);
    program_ = start(host, {"/usr/bin/sipp", kProxy.address + ":5060", "-sf",
                            SIMCO_SOURCE_DIR "/tests/integration/router/sip/" + scenario + ".xml",
                            "-i", local.address, "-mi", media.empty() ? local.address : media, "-p",
                            std::to_string(local.port), "-m", "1", "-cid_str", kCallId, "-nostdin",
                            "-trace_logs", "-log_file", log_});
  }
  Program& program() { return *program_; }

  /// Waits until the scenario has written a line with `words`, and returns all that it has written.
  std::string written(const std::string& words) const {
    std::string text;
    EXPECT_TRUE(eventually([&] {
      text = contents_of(log_);
      const auto at = text.find(words);
      return at != std::string::npos && text.find('\n', at) != std::string::npos;
    }));
    return text;
  }
  /// Where it sends its media, by the SDP that it got.
  Endpoint sends_to() const {
    std::smatch match;
    const auto text = written(kHasSdp);
    EXPECT_TRUE(std::regex_search(text, match, std::regex(R"(IP[46] (\S+) m=audio (\d+))")))
        << text;
    return {match[1], static_cast<std::uint16_t>(std::stoi(match[2]))};
  }
  /// Has it go on: end the call, say.
  void go_on() const {
    const Udp test(host_, {local_.address, 0});
    test.send(local_, "INFO sip:alice@" + local_.address +
                          " SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:1;branch=z9hG4bKtest\r\n"
                          "From: <sip:test@test>;tag=t\r\nTo: <sip:alice@test>\r\nCall-ID: " +
                          kCallId + "\r\nCSeq: 1 INFO\r\nContent-Length: 0\r\n\r\n");
  }

 private:
  static constexpr const char* kCallId = "call-1@sipp";

  const NetworkNamespace& host_;
  Endpoint local_;
  const Folder folder_;
  const std::string log_ = folder_.file("log");
  std::unique_ptr<Program> program_;
};

/// Registers bob at `contact`, again until the proxy has started.
void register_bob(const NetworkNamespace& host, const Endpoint& contact) {
  const Udp phone(host, contact);
  int tries = 0;
  EXPECT_TRUE(eventually([&] {
    const auto number = std::to_string(++tries);
    phone.send(kProxy, "REGISTER sip:10.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP " + contact.address +
                           ":" + std::to_string(contact.port) + ";branch=z9hG4bKr" + number +
                           "\r\nFrom: <sip:bob@10.0.0.1>;tag=r\r\nTo: <sip:bob@10.0.0.1>\r\n"
                           "Call-ID: register\r\nCSeq: " +
                           number + " REGISTER\r\nContact: <sip:bob@" + contact.address + ":" +
                           std::to_string(contact.port) +
                           ">\r\nMax-Forwards: 70\r\nExpires: 3600\r\nContent-Length: 0\r\n\r\n");
    const auto reply = phone.receive(std::chrono::milliseconds(500));
    return reply && reply->text.starts_with("SIP/2.0 200");
  }));
}

/// The first parameter: the caller is inside; the second: the IP version of the media. SIP is over
/// IPv4, because the configuration controls media only for a party with a private address.
class NgKamailio : public testing::TestWithParam<std::tuple<bool, const char*>> {
 protected:
  const Addresses& a() const { return std::string(std::get<1>(GetParam())) == "IPv4" ? kV4 : kV6; }
  /// A call, with packets before, during and after it.
  void call(Words options) {
    const bool caller_inside = std::get<0>(GetParam());
    const Network net;
    RouterBox box(net.router, std::move(options));
    NgBox ng(net, box.port(), {}, kNgPort);
    const Kamailio kamailio(net.router);
    const auto& caller_side = caller_inside ? net.inside : net.outside;
    const auto& callee_side = caller_inside ? net.outside : net.inside;
    const auto caller_address = caller_inside ? kV4.host : kV4.peer;
    const auto callee_address = caller_inside ? kV4.peer : kV4.host;
    const Endpoint host{a().host, static_cast<std::uint16_t>(caller_inside ? 6000 : 7000)};
    const Endpoint peer{a().peer, static_cast<std::uint16_t>(caller_inside ? 7000 : 6000)};
    const CallEnds ends(net, host, peer, a().peer2);
    ends.are_silent(host, peer);

    register_bob(callee_side, {callee_address, 5062});
    UserAgent callee(callee_side, "uas", {callee_address, 5062},
                     (caller_inside ? peer : host).address);
    UserAgent caller(caller_side, "uac", {caller_address, 5061},
                     (caller_inside ? host : peer).address);
    const auto& outer = caller_inside ? callee : caller;
    const auto host_at = outer.sends_to();
    caller.written(kHasSdp);
    ends.talk(host_at, peer);
    caller.go_on();
    EXPECT_EQ(caller.program().wait(), 0) << caller.program().out();
    EXPECT_EQ(callee.program().wait(), 0) << callee.program().out();
    const auto rules = [&] { return box.agent().rules(); };
    EXPECT_TRUE(eventually([&] { return rules().empty(); }));
    ends.are_silent(host_at, peer);
  }
};

TEST_P(NgKamailio, CallsThroughAFirewall) { call({}); }

TEST_P(NgKamailio, CallsThroughANat) {
  call({"--mode", "nat", "--outside", a().pool, "--ports", "30000-30999"});
}

// Kamailio sends a delete for it, as it does for BYE.
TEST(NgKamailioOnce, ARefusedReInviteDoesNotCutTheSound) {
  const Network net;
  RouterBox box(net.router);
  NgBox ng(net, box.port(), {}, kNgPort);
  const Kamailio kamailio(net.router);
  const CallEnds ends(net, {kV4.host, 6000}, {kV4.peer, 7000}, kV4.peer2);
  register_bob(net.outside, {kV4.peer, 5062});
  UserAgent callee(net.outside, "uas-refuse", {kV4.peer, 5062});
  UserAgent caller(net.inside, "uac-reinvite", {kV4.host, 5061});
  caller.written(kHasSdp);
  caller.go_on();
  caller.written("the re-INVITE is refused");
  EXPECT_TRUE(ng.program().says("re-offer withdrawn"));
  ends.talk({kV4.host, 6000}, {kV4.peer, 7000});
  caller.go_on();
  EXPECT_EQ(caller.program().wait(), 0) << caller.program().out();
  EXPECT_EQ(callee.program().wait(), 0) << callee.program().out();
  EXPECT_TRUE(ng.program().says(" ended"));
  EXPECT_TRUE(eventually([&] { return box.agent().rules().empty(); }));
}

TEST(NgKamailioOnce, ABusyCalleeLeavesNothing) {
  const Network net;
  RouterBox box(net.router, {"--mode", "nat", "--outside", kV4.pool});
  NgBox ng(net, box.port(), {}, kNgPort);
  const Kamailio kamailio(net.router);
  register_bob(net.outside, {kV4.peer, 5062});
  UserAgent callee(net.outside, "uas-busy", {kV4.peer, 5062});
  UserAgent caller(net.inside, "uac-busy", {kV4.host, 5061});
  EXPECT_EQ(caller.program().wait(), 0) << caller.program().out();
  EXPECT_EQ(callee.program().wait(), 0) << callee.program().out();
  EXPECT_TRUE(ng.program().says(" reserved: "));
  EXPECT_TRUE(ng.program().says(" ended"));
  EXPECT_TRUE(eventually([&] { return box.agent().rules().empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Caller, NgKamailio,
                         testing::Combine(testing::Bool(), testing::Values("IPv4", "IPv6")));

}  // namespace
}  // namespace simco::test
