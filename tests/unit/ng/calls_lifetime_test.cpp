// Rules over time: extensions, lost sessions, and restarts of simco-ng.
#include <gtest/gtest.h>

#include "simco/session/limits.hpp"
#include "tests/support/sanitizer.hpp"
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
    calls.pass(61s);
    EXPECT_EQ(text(calls.offer("x", kInside, {{"call-id", "call-2"}}), "error-reason"),
              "No session with the middlebox");
    EXPECT_EQ(calls.open(), "");
    calls.connect();
    // On a NAT the port would be another one than the SDP said.
    EXPECT_EQ(calls.open(), box == kFirewall ? kRule : "");
    EXPECT_EQ(text(calls.end("a"), "warning"), "");
    EXPECT_EQ(calls.open(), "");
  }
}

// Whatever the session was lost behind: a request of the proxy gets what the next one gives.
TEST(NgCalls, WhatALostSessionLeavesUnansweredIsAskedAgainInTheNextOne) {
  for (const auto box : {kFirewall, kNat}) {
    Calls calls(box);
    calls.silent = true;
    calls.offer("a", kInside);
    const auto offered = calls.last_request();
    calls.lose_session();
    calls.silent = false;
    calls.pass(500ms);
    calls.connect();
    EXPECT_EQ(text(calls.late_reply(offered), "result"), "ok");
    calls.silent = true;
    calls.answer("a", "b", kOutside);
    const auto answered = calls.last_request();
    calls.lose_session();
    calls.lose_session();
    calls.silent = false;
    EXPECT_TRUE(calls.late_reply(answered).is_null());
    calls.connect();
    EXPECT_EQ(text(calls.late_reply(answered), "result"), "ok");
    EXPECT_EQ(calls.open(), kRule);
  }
}

TEST(NgCalls, RequestsWaitForASessionThatWasJustLostAndNotForever) {
  Calls calls(kFirewall);
  calls.offer("a", kInside);
  calls.lose_session();
  calls.answer("a", "b", kOutside);
  const auto asked = calls.last_request();
  EXPECT_TRUE(calls.late_reply(asked).is_null());
  calls.pass(849ms);
  EXPECT_TRUE(calls.late_reply(asked).is_null());
  calls.pass(1ms);
  EXPECT_EQ(text(calls.late_reply(asked), "error-reason"), "The middlebox does not reply");
  EXPECT_EQ(text(calls.offer("x", kInside, {{"call-id", "call-2"}}), "error-reason"),
            "No session with the middlebox");
  calls.connect();
  EXPECT_EQ(calls.open(), "");  // what came too late is given back
  EXPECT_EQ(text(calls.answer("a", "b", kOutside), "result"), "ok");
}

TEST(NgCalls, AMiddleboxThatHasLostEverythingGetsItAgain) {
  Established calls;
  calls.restart_middlebox();
  calls.connect();
  EXPECT_EQ(calls.open(), kRule);
}

TEST(NgCalls, AnothersRuleWithTheSamePidIsNotTakenForOnesOwn) {
  const std::string others = "10.0.0.9:9000 192.0.2.9:9000";
  for (const bool ended : {false, true}) {
    Established calls;
    calls.lose_session();
    if (ended) calls.end("a");
    calls.restart_middlebox();
    calls.other_enables("10.0.0.9:9000", "192.0.2.9:9000");
    calls.connect();
    EXPECT_EQ(calls.open(), ended ? others : others + "; " + kRule);
    calls.end("a");
    EXPECT_EQ(calls.open(), others);
    calls.pass(290s);
    EXPECT_EQ(calls.open(), others);
  }
}

// PRL names no more than 8,191 rules, and is refused beyond.
TEST(NgCalls, RulesAreFoundAgainWithoutAList) {
  Established calls;
  for (int i = 0; i < 8'192; ++i) {
    calls.other_enables("10.0.1.1:" + std::to_string(10'000 + i), "192.0.2.9:9000");
  }
  calls.lose_session();
  calls.connect();
  calls.pass(200s);
  EXPECT_TRUE(calls.is_open(kRule));
  calls.lose_session();
  calls.end("a");
  calls.connect();
  EXPECT_FALSE(calls.is_open(kRule));
}

TEST(NgCalls, OneHundredThousandRulesAreFoundAgainAndHoldNoNewCallUp) {
  // Under a sanitizer a tenth: all of them would take longer than any other test.
  constexpr int kCalls = kSanitized ? 300 : 3'125;
  constexpr std::size_t kRules = 32;
  Calls calls(kFirewall);
  calls.stores = false;
  const auto media = [](int port) {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < kRules; ++i) {
      result.push_back("audio " + std::to_string(port + 2 * static_cast<int>(i)) + " RTP/AVP 0");
    }
    return result;
  };
  for (int i = 0; i < kCalls; ++i) {
    const json id = {{"call-id", std::to_string(i)}};
    const auto host = std::to_string(i / 250) + "." + std::to_string(i % 250);
    calls.offer("a", sdp("10.1." + host, media(6000)), id);
    calls.answer("a", "b", sdp("192.0.2.7", media(8000)), id);
  }
  ASSERT_EQ(calls.controller().rule_count(), kCalls * kRules);
  calls.lose_session();
  calls.silent = true;
  calls.connect();
  calls.offer("a", kInside);
  calls.answer("a", "b", kOutside);
  EXPECT_LE(calls.under_way(), kKeptRequestsMax + 1);
  calls.silent = false;
  calls.pass(1ms);
  calls.pass(61s);
  EXPECT_EQ(text(calls.late_reply(calls.last_request()), "result"), "ok");
  EXPECT_EQ(calls.controller().rule_count(), kCalls * kRules + 1);
}

TEST(NgCalls, ARuleThatMustEndEndsAfterARestartAsWell) {
  for (const auto box : {kFirewall, kNat}) {
    Established calls(box);
    calls.lose_session();
    calls.end("a");
    calls.restart();
    EXPECT_EQ(calls.rules(), "");
    EXPECT_EQ(calls.unended(), 0U);
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
