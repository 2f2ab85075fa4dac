// The course of calls on a firewall: which rules the middlebox has after each step.
#include <gtest/gtest.h>

#include "tests/unit/ng/calls.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using enum Calls::Box;

TEST_P(NgCourse, OnAFirewallSdpStaysAndTheAnswerOpens) {
  for (const bool caller_inside : {true, false}) {
    Calls calls(kFirewall);
    const auto& first = caller_inside ? kInside : kOutside;
    const auto& second = caller_inside ? kOutside : kInside;
    const auto offered = calls.offer("a", first);
    EXPECT_EQ(text(offered, "result"), "ok");
    EXPECT_EQ(text(offered, "sdp"), first);
    EXPECT_EQ(calls.rules(), "");
    const auto answered = calls.answer("a", "b", second);
    EXPECT_EQ(text(answered, "sdp"), second);
    EXPECT_EQ(calls.open(), kRule);
    EXPECT_EQ(text(calls.end("a"), "result"), "ok");
    EXPECT_EQ(calls.rules(), "");
    EXPECT_EQ(calls.controller().call_count(), 0U);
    EXPECT_EQ(calls.controller().rule_count(), 0U);
  }
}

TEST(NgFamilies, CallsInIpv6AreInIpv6) {
  Calls::family = Family::kIpv6;
  Established calls;
  Calls::family = Family::kIpv4;
  EXPECT_EQ(calls.open(), kRule) << "as tests say it";
  const auto stored = json::from_cbor(calls.documents().at("call-1")).dump();
  EXPECT_TRUE(stored.contains("2001:db8:1::5")) << stored;
  EXPECT_TRUE(stored.contains("2001:db8:2::192:7")) << stored;
  EXPECT_FALSE(stored.contains("10.0.0.5")) << stored;
}

TEST_P(NgCourse, RepeatsAndRefreshesChangeNothing) {
  Established calls;
  const auto before = calls.rules();
  const auto sent = calls.sent;
  calls.answer("a", "b", kOutside);
  calls.offer("b", kOutside, {{"to-tag", "a"}});  // the other party refreshes
  calls.answer("b", "a", kInside);
  calls.offer("a", kInside, {{"to-tag", "b"}});
  calls.answer("a", "b", kOutside);
  EXPECT_EQ(calls.rules(), before);
  EXPECT_EQ(calls.sent, sent);
}

TEST_P(NgCourse, AtAnotherPortTheNewRuleComesFirst) {
  Established calls;
  calls.offer("a", kInside, {{"to-tag", "b"}});
  calls.silent = true;
  calls.answer("a", "b", sdp("192.0.2.8", {"audio 7100 RTP/AVP 0"}));
  EXPECT_EQ(calls.open(), kRule);
  calls.silent = false;
  calls.pass(1ms);
  EXPECT_EQ(calls.rules(), "2 10.0.0.5:6000/2 <-> 192.0.2.8:7100/2");
  EXPECT_EQ(text(calls.late_reply(calls.last_request()), "result"), "ok");
}

TEST_P(NgCourse, HoldKeepsTheRule) {
  for (const auto& hold : {sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=inactive"}),
                           sdp("0.0.0.0", {"audio 6000 RTP/AVP 0"})}) {
    Established calls;
    const auto before = calls.rules();
    calls.offer("a", hold, {{"to-tag", "b"}});
    calls.answer("a", "b", kOutside);
    EXPECT_EQ(calls.rules(), before);
  }
}

TEST_P(NgCourse, ARefusedMediumGivesBackItsRule) {
  Calls calls(kFirewall);
  const auto both = sdp("10.0.0.5", {"audio 6000 RTP/AVP 0", "video 6002 RTP/AVP 31"});
  calls.offer("a", both);
  calls.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0", "video 7002 RTP/AVP 31"}));
  EXPECT_EQ(calls.open(), kRule + "; 10.0.0.5:6002/2 192.0.2.7:7002/2");
  calls.offer("a", both, {{"to-tag", "b"}});
  calls.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0", "video 0 RTP/AVP 31"}));
  EXPECT_EQ(calls.open(), kRule);
}

TEST_P(NgCourse, AnotherToTagIsAnotherLeg) {
  Calls calls(kFirewall);
  calls.offer("a", kInside);
  calls.answer("a", "b1", kOutside);
  calls.answer("a", "b2", sdp("192.0.2.8", {"audio 7000 RTP/AVP 0"}));
  EXPECT_EQ(calls.open(), kRule + "; 10.0.0.5:6000/2 192.0.2.8:7000/2");
  // The same endpoint as another leg has: one rule, which stays until both have left it.
  calls.answer("a", "b3", kOutside);
  EXPECT_EQ(calls.open(), kRule + "; 10.0.0.5:6000/2 192.0.2.8:7000/2");
  calls.end("b2");
  EXPECT_EQ(calls.open(), "");
}

TEST_P(NgCourse, BranchesAreKeptApart) {
  Calls calls(kFirewall);
  calls.offer("a", kInside, {{"via-branch", "z1"}});
  calls.offer("a", sdp("10.0.0.5", {"audio 6100 RTP/AVP 0"}), {{"via-branch", "z2"}});
  const char* kNothing = "Call-ID not found or tags didn't match";
  EXPECT_EQ(text(calls.end("a", {{"via-branch", "z3"}}), "warning"), kNothing);
  calls.answer("a", "b1", kOutside, {{"via-branch", "z1"}});
  calls.answer("a", "b2", sdp("192.0.2.8", {"audio 7000 RTP/AVP 0"}), {{"via-branch", "z2"}});
  const std::string second = "10.0.0.5:6100/2 192.0.2.8:7000/2";
  EXPECT_EQ(calls.open(), kRule + "; " + second);
  // A branch that has no offer here is refused.
  EXPECT_EQ(text(calls.end("a", {{"to-tag", "b3"}, {"via-branch", "z3"}}), "warning"), kNothing);
  EXPECT_EQ(text(calls.end("a", {{"via-branch", "z1"}}), "warning"), "");
  EXPECT_EQ(calls.open(), second);
  calls.end("a");
  EXPECT_EQ(calls.open(), "");
}

// The one who hangs up says a branch that no offer had.
TEST_P(NgCourse, ABranchOfAByeEndsTheCallByItsTags) {
  for (const auto& [from, more] : {std::pair{"a", json{{"to-tag", "b"}}},
                                   {"b", json{{"to-tag", "a"}}},
                                   {"b", json::object()}}) {
    Calls calls(kFirewall);
    calls.offer("a", kInside, {{"via-branch", "z1"}});
    calls.answer("a", "b", kOutside, {{"via-branch", "z1"}});
    auto bye = more;
    bye["via-branch"] = "z9";
    EXPECT_EQ(text(calls.end("x", bye), "warning"), "Call-ID not found or tags didn't match");
    EXPECT_EQ(calls.open(), kRule);
    EXPECT_EQ(text(calls.end(from, bye), "warning"), "");
    EXPECT_EQ(calls.open(), "");
    EXPECT_EQ(calls.controller().call_count(), 0U);
  }
}

}  // namespace
}  // namespace simco::test
