// Rules over time: extensions, lost sessions, and restarts of simco-ng.
#include <gtest/gtest.h>

#include "tests/unit/ng/calls.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using enum Calls::Box;

TEST(NgCalls, RulesAreExtended) {
  for (const auto box : {kFirewall, kNat}) {
    Established calls(box);
    const auto before = calls.rules();
    calls.offer("a", sdp("10.0.0.5", {"audio 6500 RTP/AVP 0"}), {{"to-tag", "b"}});
    const auto reserved = calls.rules();
    calls.pass(200s);
    EXPECT_EQ(calls.rules(), reserved);
    calls.end("a");
    calls.pass(200s);
    EXPECT_EQ(calls.rules(), before);
  }
}

TEST(NgCalls, WithoutSimcoNgRulesEnd) {
  Established calls;
  calls.silent = true;
  calls.pass(61s);
  EXPECT_EQ(calls.rules(), "");
}

TEST(NgCalls, ARuleThatTheMiddleboxEndsIsForgottenAndMadeByTheNextAnswer) {
  Established calls;
  calls.end_rule({1});
  EXPECT_EQ(calls.open(), "");
  EXPECT_EQ(calls.controller().rule_count(), 0U);
  EXPECT_EQ(calls.lines.back(), "call \"call-1\": rule 1 was ended by the middlebox");
  calls.pass(2s);  // the administrator's rule ends
  calls.offer("a", kInside, {{"to-tag", "b"}});
  calls.answer("a", "b", kOutside);
  EXPECT_EQ(calls.open(), kRule);
}

TEST(NgCalls, AfterALostSessionWhatIsMissingIsMadeAgain) {
  for (const auto box : {kFirewall, kNat}) {
    Established calls(box);
    calls.lose_session();
    EXPECT_EQ(text(calls.offer("x", kInside, {{"call-id", "call-2"}}), "error-reason"),
              "No session with the middlebox");
    calls.pass(61s);
    EXPECT_EQ(calls.open(), "");
    calls.connect();
    // On a NAT the port would be another one than the SDP said.
    EXPECT_EQ(calls.open(), box == kFirewall ? kRule : "");
    EXPECT_EQ(text(calls.end("a"), "warning"), "");
    EXPECT_EQ(calls.open(), "");
  }
}

TEST(NgCalls, ASessionThatIsLostAgainTakesNothingAway) {
  for (const bool restart : {false, true}) {
    Established calls;
    calls.lose_session();
    calls.pass(61s);
    calls.silent = true;
    calls.connect();
    restart ? calls.restart() : calls.lose_session();
    calls.silent = false;
    calls.pass(1s);
    if (!restart) {
      EXPECT_EQ(calls.open(), "");
      calls.connect();
    }
    EXPECT_EQ(calls.open(), kRule);
  }
}

TEST(NgCalls, ACallThatEndsWithoutASessionLeavesNothing) {
  for (const auto box : {kFirewall, kNat}) {
    Established calls(box);
    calls.lose_session();
    EXPECT_EQ(text(calls.end("a"), "result"), "ok");
    EXPECT_NE(calls.rules(), "");
    calls.connect();
    EXPECT_EQ(calls.rules(), "");
  }
}

TEST(NgCalls, AShortInterruptionEndsNothing) {
  Established calls(kNat);
  const auto before = calls.rules();
  calls.lose_session();
  calls.pass(30s);
  calls.connect();
  calls.pass(200s);
  EXPECT_EQ(calls.rules(), before);
}

TEST(NgCalls, AfterARestartCallsGoOn) {
  for (const auto box : {kFirewall, kNat}) {
    Established calls(box);
    const auto before = calls.rules();
    const auto query = calls.ask({{"command", "query"}});
    calls.restart();
    EXPECT_EQ(calls.ask({{"command", "query"}})["tags"], query["tags"]);
    calls.offer("a", kInside, {{"to-tag", "b"}});
    calls.answer("a", "b", kOutside);
    calls.pass(200s);
    EXPECT_EQ(calls.rules(), before);
    calls.end("b");
    EXPECT_EQ(calls.rules(), "");
    calls.restart();
    EXPECT_EQ(calls.controller().call_count(), 0U);
  }
}

TEST(NgCalls, AfterARestartAnOfferGetsItsAnswer) {
  Calls calls(kNat);
  calls.offer("a", kInside, {{"direction", {"internal", "external"}}, {"via-branch", "z"}});
  calls.restart();
  calls.answer("a", "b", sdp("10.0.0.9", {"audio 7000 RTP/AVP 0"}));
  EXPECT_EQ(calls.rules(), "1 10.0.0.5:6000/2 <-> 10.0.0.9:7000/2 = 198.51.100.1:40000/2");
}

TEST(NgCalls, DocumentsOfCallsAreReadAsTheyWereWritten) {
  Calls calls(kFirewall);
  const std::string medium =
      "audio 6000 RTP/AVP 0|a=mid:0|a=rtcp:6005|a=ice-ufrag:x|"
      "a=candidate:1 1 UDP 1 10.0.0.5 6500 typ host";
  const std::string odd_tag = "a\xff\n";
  calls.offer(odd_tag, "a=group:BUNDLE 0\r\n" + sdp("10.0.0.5", {medium}));
  calls.answer(odd_tag, "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0|a=ice-ufrag:y|a=mid:0"}),
               {{"flags", {"SIP-source-address"}}, {"received-from", {"IP4", "192.0.2.9"}}});
  calls.offer("b", sdp("2001:db8:2::1", {"audio 7000 RTP/AVP 0"}), {{"to-tag", odd_tag}});
  const ng::Moment now{Instant(2h), std::chrono::sys_seconds(7200s)};
  const auto document = json::from_cbor(calls.documents().at("call-1"));
  EXPECT_EQ(document["offers"].size(), 2U);
  EXPECT_EQ(document["legs"].size(), 1U);
  EXPECT_EQ(ng::write_call(ng::read_call(document, now), now), document);
}

TEST(NgCalls, WhatIsNotADocumentIsRefused) {
  const ng::Moment now{Instant(1h), {}};
  Established calls;
  const auto good = json::from_cbor(calls.documents().at("call-1"));
  EXPECT_NO_THROW(ng::read_call(good, now));
  for (const auto& [key, value] : good.items()) {
    auto bad = good;
    bad.erase(key);
    EXPECT_THROW(ng::read_call(bad, now), std::exception) << key;
    bad[key] = {1};
    EXPECT_THROW(ng::read_call(bad, now), std::exception) << key;
  }
}

}  // namespace
}  // namespace simco::test
