// The course of calls on a NAT: reserved ports, what SDPs tell, and shared bindings.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/ng/calls.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using enum Calls::Box;

TEST_P(NgCourse, OnANatTheOfferFromInsideTellsOutsidePorts) {
  Calls calls(kNat);
  const auto offered = calls.offer("a", kInside, {{"replace", {"origin"}}});
  EXPECT_EQ(calls.rules(), "1 reserved = 198.51.100.1:40000/2");
  EXPECT_EQ(text(offered, "sdp"), sdp("198.51.100.1", {"audio 40000 RTP/AVP 0"}));
  const auto answered = calls.answer("a", "b", kOutside);
  EXPECT_EQ(text(answered, "sdp"), kOutside);
  EXPECT_EQ(calls.rules(), "1 10.0.0.5:6000/2 <-> 192.0.2.7:7000/2 = 198.51.100.1:40000/2");
  calls.end("a");
  EXPECT_EQ(calls.rules(), "");
}

TEST_P(NgCourse, OnANatTheAnswerFromInsideIsTranslated) {
  Calls calls(kNat);
  EXPECT_EQ(text(calls.offer("a", kOutside), "sdp"), kOutside);
  EXPECT_EQ(calls.rules(), "");
  const auto answered = calls.answer("a", "b", kInside);
  EXPECT_EQ(text(answered, "sdp"),
            "v=0\r\no=- 1 1 IN IP4 10.0.0.5\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n"
            "m=audio 40000 RTP/AVP 0\r\n");
  EXPECT_EQ(calls.rules(), "1 10.0.0.5:6000/2 <-> 192.0.2.7:7000/2 = 198.51.100.1:40000/2");
}

TEST_P(NgCourse, OnANatRefreshesTellTheSamePorts) {
  Established calls(kNat);
  const auto before = calls.rules();
  const auto again = calls.offer("a", kInside, {{"to-tag", "b"}});
  EXPECT_TRUE(text(again, "sdp").contains("m=audio 40000 "));
  calls.answer("a", "b", kOutside);
  calls.offer("b", kOutside, {{"to-tag", "a"}});
  EXPECT_TRUE(text(calls.answer("b", "a", kInside), "sdp").contains("m=audio 40000 "));
  EXPECT_EQ(calls.rules(), before);
}

TEST_P(NgCourse, OnANatAPeerThatMovesKeepsTheOutsidePort) {
  Established calls(kNat);
  calls.offer("b", sdp("192.0.2.8", {"audio 7500 RTP/AVP 0"}), {{"to-tag", "a"}});
  EXPECT_TRUE(text(calls.answer("b", "a", kInside), "sdp").contains("m=audio 40000 "));
  EXPECT_EQ(calls.rules(), "2 10.0.0.5:6000/2 <-> 192.0.2.8:7500/2 = 198.51.100.1:40000/2");
}

TEST_P(NgCourse, OnANatEarlyDialoguesShareThePort) {
  Calls calls(kNat);
  calls.offer("a", kInside);
  calls.answer("a", "b1", kOutside);
  calls.answer("a", "b2", sdp("192.0.2.8", {"audio 7000 RTP/AVP 0"}));
  EXPECT_EQ(calls.rules(),
            "1 10.0.0.5:6000/2 <-> 192.0.2.7:7000/2 = 198.51.100.1:40000/2; "
            "2 10.0.0.5:6000/2 <-> 192.0.2.8:7000/2 = 198.51.100.1:40000/2");
}

TEST_P(NgCourse, OnANatTheEndOfABranchLeavesAnotherOneItsPort) {
  Calls calls(kNat);
  calls.offer("a", kInside, {{"via-branch", "z1"}});
  calls.offer("a", kInside, {{"via-branch", "z2"}});
  calls.answer("a", "b1", kOutside, {{"via-branch", "z1"}});
  calls.end("a", {{"via-branch", "z1"}});
  const auto answered =
      calls.answer("a", "b2", sdp("192.0.2.8", {"audio 7000 RTP/AVP 0"}), {{"via-branch", "z2"}});
  EXPECT_EQ(text(answered, "result"), "ok");
  EXPECT_EQ(calls.rules(), "2 10.0.0.5:6000/2 <-> 192.0.2.8:7000/2 = 198.51.100.1:40000/2");
  calls.end("a");
  EXPECT_EQ(calls.rules(), "");
}

TEST_P(NgCourse, OnANatABranchThatEndsLeavesOneRuleToHoldThePort) {
  Calls calls(kNat);
  calls.offer("a", kInside, {{"via-branch", "z1"}});
  calls.offer("a", kInside, {{"via-branch", "z2"}});
  calls.answer("a", "b1", kOutside,
               {{"via-branch", "z1"},
                {"flags", {"SIP-source-address"}},
                {"received-from", {"IP4", "203.0.113.9"}}});
  calls.end("a", {{"via-branch", "z1"}});
  EXPECT_EQ(calls.rules(), "1 10.0.0.5:6000/2 <- 203.0.113.9 = 198.51.100.1:40000/2");
  calls.end("a", {{"via-branch", "z2"}});
  EXPECT_EQ(calls.rules(), "");
}

TEST_P(NgCourse, OnANatARefusedMediumGivesBackItsPorts) {
  Calls calls(kNat);
  calls.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0", "video 6002 RTP/AVP 31"}));
  EXPECT_EQ(calls.rules(), "1 reserved = 198.51.100.1:40000/2; 2 reserved = 198.51.100.1:40002/2");
  calls.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0", "video 0 RTP/AVP 31"}));
  EXPECT_EQ(calls.open(), kRule);
}

TEST_P(NgCourse, OnANatRtcpElsewhereIsTold) {
  Calls calls(kNat);
  const auto offered = calls.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=rtcp:6005"}));
  EXPECT_EQ(calls.rules(), "1 reserved = 198.51.100.1:40000; 2 reserved = 198.51.100.1:40001");
  EXPECT_TRUE(text(offered, "sdp").contains("m=audio 40000 RTP/AVP 0\r\na=rtcp:40001\r\n"));
}

// One port was enough for the first offer; RTCP of the next one has no port yet.
TEST_P(NgCourse, OnANatRtcpThatIsNoLongerMultiplexedGetsAPort) {
  Calls calls(kNat);
  calls.offer("a", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0|a=rtcp-mux"}));
  calls.answer("a", "b", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=rtcp-mux"}));
  // Another call has the next port.
  calls.offer("x", sdp("10.0.0.9", {"audio 6101 RTP/AVP 0|a=rtcp-mux-only"}),
              {{"call-id", "call-2"}});
  const std::string before =
      "1 10.0.0.5:6000 <-> 192.0.2.7:7000 = 198.51.100.1:40000; 2 reserved = 198.51.100.1:40001";
  EXPECT_EQ(calls.rules(), before);
  const auto offered = calls.offer("b", kInside, {{"to-tag", "a"}});
  EXPECT_TRUE(text(offered, "sdp").contains("m=audio 40000 RTP/AVP 0\r\na=rtcp:40003\r\n"));
  calls.answer("b", "a", kOutside);
  EXPECT_EQ(calls.rules(), before + "; 3 10.0.0.5:6001 <-> 192.0.2.7:7001 = 198.51.100.1:40003");
}

// The peer has been told ports that are another's by now.
bool says_lost(const std::string& line) {
  return line.ends_with("ports of the offer are lost, and stay closed");
}

TEST_P(NgCourse, OnANatLostPortsOfAnOfferAreNotReplaced) {
  Calls calls(kNat);
  calls.offer("a", kInside);
  calls.lose_session();
  calls.pass(61s);
  calls.connect();
  const auto answered = calls.answer("a", "b", kOutside);
  EXPECT_EQ(text(answered, "error-reason"), "The ports of the offer are lost");
  EXPECT_EQ(std::ranges::count_if(calls.lines, says_lost), 1);
  EXPECT_EQ(calls.rules(), "");
  // The next offer tells others.
  EXPECT_EQ(text(calls.offer("a", kInside), "result"), "ok");
  EXPECT_EQ(text(calls.answer("a", "b", kOutside), "result"), "ok");
  EXPECT_EQ(calls.open(), kRule);
}

TEST_P(NgCourse, OnANatWhatAnEarlyDialogueRefusedStaysClosed) {
  Calls calls(kNat);
  calls.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0", "video 6002 RTP/AVP 31"}));
  calls.answer("a", "b1", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0", "video 0 RTP/AVP 31"}));
  const auto second =
      calls.answer("a", "b2", sdp("192.0.2.8", {"audio 7000 RTP/AVP 0", "video 7002 RTP/AVP 31"}));
  EXPECT_EQ(text(second, "result"), "ok");
  EXPECT_EQ(calls.open(), kRule + "; 10.0.0.5:6000/2 192.0.2.8:7000/2");
  EXPECT_EQ(std::ranges::count_if(calls.lines, says_lost), 1);
}

// A pair of ports is reserved, and the last port has no next one.
TEST_P(NgCourse, OnANatThePeerMayUseTheLastPort) {
  Calls calls(kNat);
  calls.offer("a", kInside);
  const auto answered = calls.answer("a", "b", sdp("192.0.2.7", {"audio 65535 RTP/AVP 0"}));
  EXPECT_EQ(text(answered, "result"), "ok");
  EXPECT_EQ(calls.rules(),
            "1 10.0.0.5:6000/2 <- 192.0.2.7 = 198.51.100.1:40000/2; "
            "2 10.0.0.5:6000/2 -> 192.0.2.7 = 198.51.100.1:40000/2");
}

TEST_P(NgCourse, AFullPoolHasTheWordsOfRtpengine) {
  Calls calls(kNat);
  std::vector<std::string> media(6, "audio 6000 RTP/AVP 0");
  for (std::size_t i = 0; i < media.size(); ++i)
    media[i] = "audio " + std::to_string(6000 + 2 * i) + " RTP/AVP 0";
  const auto reply = calls.offer("a", sdp("10.0.0.5", media));
  EXPECT_EQ(text(reply, "result"), "error");
  EXPECT_EQ(text(reply, "error-reason"), "Ran out of ports");
  EXPECT_EQ(calls.rules(), "");  // what was reserved of it is given back
  EXPECT_EQ(calls.controller().call_count(), 0U);
}

TEST_P(NgCourse, OnANatAWithdrawnReOfferGivesBackItsPorts) {
  Established calls(kNat);
  const auto before = calls.rules();
  calls.offer("a", sdp("10.0.0.5", {"audio 6500 RTP/AVP 0"}), {{"to-tag", "b"}});
  EXPECT_NE(calls.rules(), before);
  calls.end("a");
  EXPECT_EQ(calls.rules(), before);
}

}  // namespace
}  // namespace simco::test
