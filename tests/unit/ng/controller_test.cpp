// The course of calls: which rules the middlebox has after each step.
#include "agent/ng/controller.hpp"

#include <gtest/gtest.h>

#include "tests/unit/ng/calls.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using enum Calls::Box;

const std::string kInside = sdp("10.0.0.5", {"audio 6000 RTP/AVP 0"});
const std::string kOutside = sdp("192.0.2.7", {"audio 7000 RTP/AVP 0"});
const std::string kRule = "10.0.0.5:6000/2 192.0.2.7:7000/2";

std::string text(const json& reply, const char* key) { return reply.value(key, std::string()); }

/// A call that is up, caller inside.
struct Established : Calls {
  explicit Established(Box box = kFirewall) : Calls(box) {
    offer("a", kInside);
    answer("a", "b", kOutside);
  }
};

// --- Firewall ------------------------------------------------------------------------------------

TEST(NgCalls, OnAFirewallSdpStaysAndTheAnswerOpens) {
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

TEST(NgCalls, RepeatsAndRefreshesChangeNothing) {
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

TEST(NgCalls, AtAnotherPortTheNewRuleComesFirst) {
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

TEST(NgCalls, HoldKeepsTheRule) {
  for (const auto& hold : {sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=inactive"}),
                           sdp("0.0.0.0", {"audio 6000 RTP/AVP 0"})}) {
    Established calls;
    const auto before = calls.rules();
    calls.offer("a", hold, {{"to-tag", "b"}});
    calls.answer("a", "b", kOutside);
    EXPECT_EQ(calls.rules(), before);
  }
}

TEST(NgCalls, ARefusedMediumGivesBackItsRule) {
  Calls calls(kFirewall);
  const auto both = sdp("10.0.0.5", {"audio 6000 RTP/AVP 0", "video 6002 RTP/AVP 31"});
  calls.offer("a", both);
  calls.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0", "video 7002 RTP/AVP 31"}));
  EXPECT_EQ(calls.open(), kRule + "; 10.0.0.5:6002/2 192.0.2.7:7002/2");
  calls.offer("a", both, {{"to-tag", "b"}});
  calls.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0", "video 0 RTP/AVP 31"}));
  EXPECT_EQ(calls.open(), kRule);
}

TEST(NgCalls, AnotherToTagIsAnotherLeg) {
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

TEST(NgCalls, BranchesAreKeptApart) {
  Calls calls(kFirewall);
  calls.offer("a", kInside, {{"via-branch", "z1"}});
  calls.offer("a", sdp("10.0.0.5", {"audio 6100 RTP/AVP 0"}), {{"via-branch", "z2"}});
  calls.answer("a", "b1", kOutside, {{"via-branch", "z1"}});
  calls.answer("a", "b2", sdp("192.0.2.8", {"audio 7000 RTP/AVP 0"}), {{"via-branch", "z2"}});
  const std::string second = "10.0.0.5:6100/2 192.0.2.8:7000/2";
  EXPECT_EQ(calls.open(), kRule + "; " + second);
  EXPECT_EQ(text(calls.end("a", {{"via-branch", "z3"}}), "warning"),
            "Call-ID not found or tags didn't match");
  EXPECT_EQ(text(calls.end("a", {{"via-branch", "z1"}}), "warning"), "");
  EXPECT_EQ(calls.open(), second);
  calls.end("a");
  EXPECT_EQ(calls.open(), "");
}

// --- Ends ----------------------------------------------------------------------------------------

TEST(NgCalls, ADeleteOfWhatIsUnknownDeletesNothing) {
  Established calls;
  const char* kWarning = "Call-ID not found or tags didn't match";
  for (const json& more :
       {json{{"call-id", "other"}}, json{{"from-tag", "x"}}, json{{"to-tag", "x"}}}) {
    json request = {{"command", "delete"}, {"from-tag", "a"}};
    request.update(more);
    const auto warned = calls.ask(request);
    EXPECT_EQ(text(warned, "result"), "ok") << more;
    EXPECT_EQ(text(warned, "warning"), kWarning) << more;
    request["flags"] = {"fatal"};
    const auto failed = calls.ask(request);
    EXPECT_EQ(text(failed, "result"), "error") << more;
    EXPECT_EQ(text(failed, "error-reason"), kWarning) << more;
  }
  EXPECT_EQ(calls.open(), kRule);
}

TEST(NgCalls, EitherPartyEndsTheCall) {
  for (const char* tag : {"a", "b"}) {
    Established calls;
    calls.end(tag);
    EXPECT_EQ(calls.open(), "");
  }
}

TEST(NgCalls, ABusyCalleeLeavesNothing) {
  Calls calls(kFirewall);
  calls.offer("a", kInside);
  EXPECT_EQ(text(calls.end("a", {{"to-tag", "busy"}}), "warning"), "");
  EXPECT_EQ(calls.controller().call_count(), 0U);
}

// A proxy sends a delete when a re-INVITE is refused, as it does for BYE.
TEST(NgCalls, ARefusedReInviteDoesNotCutTheCall) {
  for (const auto& [from, to] : {std::pair{"a", "b"}, std::pair{"b", "a"}}) {
    for (const json& tag : {json{{"to-tag", to}}, json::object()}) {
      Established calls;
      const auto moved = from == std::string("a") ? sdp("10.0.0.5", {"audio 6500 RTP/AVP 0"})
                                                  : sdp("192.0.2.7", {"audio 7500 RTP/AVP 0"});
      calls.offer(from, moved, tag);
      EXPECT_EQ(text(calls.end(from), "result"), "ok");
      EXPECT_EQ(calls.open(), kRule);
      calls.end(from);
      EXPECT_EQ(calls.open(), "");
    }
  }
}

TEST(NgCalls, AnOfferWithoutAnswerIsForgotten) {
  Calls calls(kFirewall);
  calls.offer("a", kInside);
  calls.pass(ng::kOfferPatience + 1s);
  EXPECT_EQ(calls.controller().call_count(), 0U);
}

TEST(NgCalls, ACallHasAMaximumDuration) {
  auto options = Calls::options();
  options.duration_max = 300s;
  Calls calls(kFirewall, options);
  calls.offer("a", kInside);
  calls.answer("a", "b", kOutside);
  calls.pass(299s);
  EXPECT_EQ(calls.open(), kRule);
  calls.pass(2s);
  EXPECT_EQ(calls.open(), "");
  EXPECT_EQ(calls.controller().call_count(), 0U);
}

// --- NAT -----------------------------------------------------------------------------------------

TEST(NgCalls, OnANatTheOfferFromInsideTellsOutsidePorts) {
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

TEST(NgCalls, OnANatTheAnswerFromInsideIsTranslated) {
  Calls calls(kNat);
  EXPECT_EQ(text(calls.offer("a", kOutside), "sdp"), kOutside);
  EXPECT_EQ(calls.rules(), "");
  const auto answered = calls.answer("a", "b", kInside);
  EXPECT_EQ(text(answered, "sdp"),
            "v=0\r\no=- 1 1 IN IP4 10.0.0.5\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n"
            "m=audio 40000 RTP/AVP 0\r\n");
  EXPECT_EQ(calls.rules(), "1 10.0.0.5:6000/2 <-> 192.0.2.7:7000/2 = 198.51.100.1:40000/2");
}

TEST(NgCalls, OnANatRefreshesTellTheSamePorts) {
  Established calls(kNat);
  const auto before = calls.rules();
  const auto again = calls.offer("a", kInside, {{"to-tag", "b"}});
  EXPECT_TRUE(text(again, "sdp").contains("m=audio 40000 "));
  calls.answer("a", "b", kOutside);
  calls.offer("b", kOutside, {{"to-tag", "a"}});
  EXPECT_TRUE(text(calls.answer("b", "a", kInside), "sdp").contains("m=audio 40000 "));
  EXPECT_EQ(calls.rules(), before);
}

TEST(NgCalls, OnANatAPeerThatMovesKeepsTheOutsidePort) {
  Established calls(kNat);
  calls.offer("b", sdp("192.0.2.8", {"audio 7500 RTP/AVP 0"}), {{"to-tag", "a"}});
  EXPECT_TRUE(text(calls.answer("b", "a", kInside), "sdp").contains("m=audio 40000 "));
  EXPECT_EQ(calls.rules(), "2 10.0.0.5:6000/2 <-> 192.0.2.8:7500/2 = 198.51.100.1:40000/2");
}

TEST(NgCalls, OnANatEarlyDialoguesShareThePort) {
  Calls calls(kNat);
  calls.offer("a", kInside);
  calls.answer("a", "b1", kOutside);
  calls.answer("a", "b2", sdp("192.0.2.8", {"audio 7000 RTP/AVP 0"}));
  EXPECT_EQ(calls.rules(),
            "1 10.0.0.5:6000/2 <-> 192.0.2.7:7000/2 = 198.51.100.1:40000/2; "
            "2 10.0.0.5:6000/2 <-> 192.0.2.8:7000/2 = 198.51.100.1:40000/2");
}

TEST(NgCalls, OnANatAPhoneBehindANatOfItsOwnIsReached) {
  Calls calls(kNat);
  calls.offer("a", kInside);
  calls.answer("a", "b", sdp("192.168.1.2", {"audio 7000 RTP/AVP 0"}),
               {{"flags", {"SIP-source-address"}}, {"received-from", {"IP4", "203.0.113.9"}}});
  EXPECT_EQ(calls.rules(),
            "1 10.0.0.5:6000/2 <- 203.0.113.9 = 198.51.100.1:40000/2; "
            "2 10.0.0.5:6000/2 -> 203.0.113.9 = 198.51.100.1:40000/2");
}

TEST(NgCalls, OnANatMultiplexedRtcpTakesWhatWasReserved) {
  Calls calls(kNat);
  calls.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=rtcp-mux"}));
  calls.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0|a=rtcp-mux"}));
  EXPECT_EQ(calls.rules(), "1 10.0.0.5:6000/2 <-> 192.0.2.7:7000/2 = 198.51.100.1:40000/2");
}

TEST(NgCalls, OnANatARefusedMediumGivesBackItsPorts) {
  Calls calls(kNat);
  calls.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0", "video 6002 RTP/AVP 31"}));
  EXPECT_EQ(calls.rules(), "1 reserved = 198.51.100.1:40000/2; 2 reserved = 198.51.100.1:40002/2");
  calls.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0", "video 0 RTP/AVP 31"}));
  EXPECT_EQ(calls.open(), kRule);
}

TEST(NgCalls, OnANatRtcpElsewhereIsTold) {
  Calls calls(kNat);
  const auto offered = calls.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=rtcp:6005"}));
  EXPECT_EQ(calls.rules(), "1 reserved = 198.51.100.1:40000; 2 reserved = 198.51.100.1:40001");
  EXPECT_TRUE(text(offered, "sdp").contains("m=audio 40000 RTP/AVP 0\r\na=rtcp:40001\r\n"));
}

TEST(NgCalls, AFullPoolHasTheWordsOfRtpengine) {
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

TEST(NgCalls, OnANatAWithdrawnReOfferGivesBackItsPorts) {
  Established calls(kNat);
  const auto before = calls.rules();
  calls.offer("a", sdp("10.0.0.5", {"audio 6500 RTP/AVP 0"}), {{"to-tag", "b"}});
  EXPECT_NE(calls.rules(), before);
  calls.end("a");
  EXPECT_EQ(calls.rules(), before);
}

// --- Errors --------------------------------------------------------------------------------------

TEST(NgCalls, WhatCannotBeDoneIsAnError) {
  struct Row {
    json request;
    const char* reason;
  };
  const json offer = {
      {"command", "offer"}, {"from-tag", "a"}, {"call-id", "other"}, {"sdp", kInside}};
  const auto with = [&](json more) {
    auto result = offer;
    result.update(more);
    return result;
  };
  const Row rows[] = {
      {with({{"command", "answer"}, {"to-tag", "b"}}), "Unknown call-id"},
      {with({{"command", "query"}}), "Unknown call-id"},
      {with({{"sdp", "m=audio"}}), "Failed to parse SDP: an m= line without a port"},
      {with({{"ICE", "force"}}), "Not possible with a middlebox: ICE=force"},
      {with({{"transport-protocol", "RTP/SAVP"}}),
       "Not possible with a middlebox: transport-protocol=RTP/SAVP"},
      {with({{"sdp", sdp("10.0.0.5", {"audio 53 RTP/AVP 0"})}}),
       "Not opened: 10.0.0.5:53, a port below 1024"},
  };
  Established calls;
  for (const auto& row : rows) {
    const auto reply = calls.ask(row.request);
    EXPECT_EQ(text(reply, "result"), "error");
    EXPECT_EQ(text(reply, "error-reason"), row.reason);
  }
  EXPECT_EQ(calls.controller().call_count(), 1U);
  EXPECT_EQ(text(calls.ask(with({{"transport-protocol", "RTP/AVP"}})), "result"), "ok");
}

TEST(NgCalls, CallsAreBounded) {
  auto options = Calls::options();
  options.calls_max = 1;
  Calls calls(kFirewall, options);
  EXPECT_EQ(text(calls.offer("a", kInside), "result"), "ok");
  EXPECT_EQ(text(calls.offer("a", kInside, {{"call-id", "call-2"}}), "error-reason"),
            "Parallel session limit reached");
}

TEST(NgCalls, ASilentMiddleboxIsAnErrorInTime) {
  for (const auto box : {kFirewall, kNat}) {
    Calls calls(box);
    if (box == kFirewall) calls.offer("a", kInside);
    calls.silent = true;
    const auto reply =
        box == kFirewall ? calls.answer("a", "b", kOutside) : calls.offer("a", kInside);
    EXPECT_TRUE(reply.is_null());
    const auto id = calls.last_request();
    calls.end("a");  // waits, and is carried out nevertheless
    calls.pass(ng::kReplyPatience);
    EXPECT_EQ(text(calls.late_reply(id), "error-reason"), "The middlebox does not reply");
    calls.silent = false;
    calls.pass(1ms);
    EXPECT_EQ(calls.rules(), "");
    EXPECT_EQ(calls.controller().call_count(), 0U);
  }
}

// --- Lifetimes -----------------------------------------------------------------------------------

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

TEST(NgCalls, AShortInterruptionEndsNothing) {
  Established calls(kNat);
  const auto before = calls.rules();
  calls.lose_session();
  calls.pass(30s);
  calls.connect();
  calls.pass(200s);
  EXPECT_EQ(calls.rules(), before);
}

// --- Restarts ------------------------------------------------------------------------------------

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

// --- In front of a media proxy -------------------------------------------------------------------

/// A media proxy at 10.0.0.200 that has two ports for a call.
struct WithUpstream : Calls {
  explicit WithUpstream(Box box = kFirewall) : Calls(box, upstream_options()) {}
  static ng::CallController::Options upstream_options() {
    auto result = options();
    result.upstream = true;
    return result;
  }
  static json ok(int port) {
    return {{"result", "ok"},
            {"sdp", sdp("10.0.0.200", {"audio " + std::to_string(port) + " RTP/AVP 0"})}};
  }
};

TEST(NgCalls, EachPortOfAMediaProxyHasOnePeer) {
  WithUpstream calls;
  const auto other = sdp("198.51.100.9", {"audio 8000 RTP/AVP 0"});
  EXPECT_TRUE(calls.offer("a", kOutside).is_null());
  EXPECT_EQ(calls.upstream_replies(WithUpstream::ok(30000)), WithUpstream::ok(30000));
  EXPECT_EQ(calls.rules(), "");
  EXPECT_TRUE(calls.answer("a", "b", other).is_null());
  EXPECT_EQ(calls.rules(), "");
  EXPECT_EQ(calls.upstream_replies(WithUpstream::ok(30002)), WithUpstream::ok(30002));
  EXPECT_EQ(calls.open(),
            "10.0.0.200:30000/2 198.51.100.9:8000/2; "
            "10.0.0.200:30002/2 192.0.2.7:7000/2");
  EXPECT_TRUE(calls.end("a").is_null());
  EXPECT_EQ(calls.upstream_replies({{"result", "ok"}, {"totals", 1}})["totals"], 1);
  EXPECT_EQ(calls.rules(), "");
}

TEST(NgCalls, AnInternalPartyOfAMediaProxyNeedsNoRule) {
  WithUpstream calls;
  calls.offer("a", kInside);
  calls.upstream_replies(WithUpstream::ok(30000));
  calls.answer("a", "b", kOutside);
  calls.upstream_replies(WithUpstream::ok(30002));
  EXPECT_EQ(calls.open(), "10.0.0.200:30000/2 192.0.2.7:7000/2");
}

TEST(NgCalls, WhatAMediaProxyCanDoIsLeftToIt) {
  WithUpstream calls;
  EXPECT_TRUE(
      calls.offer("a", kOutside, {{"ICE", "force"}, {"transport-protocol", "RTP/SAVP"}}).is_null());
  EXPECT_EQ(calls.upstream_replies(WithUpstream::ok(30000)), WithUpstream::ok(30000));
  for (const char* command : {"ping", "list", "query"}) {
    EXPECT_TRUE(calls.ask({{"command", command}}).is_null());
    EXPECT_EQ(calls.upstream_replies({{"result", command}}), json({{"result", command}}));
    calls.ask({{"command", command}});
    const auto id = calls.last_request();
    calls.pass(ng::kReplyPatience);
    EXPECT_EQ(text(calls.late_reply(id), "result"), "error");
    calls.upstream_replies({{"result", command}});  // too late
  }
}

TEST(NgCalls, WhatAMediaProxyRefusesOpensNothing) {
  WithUpstream calls;
  const json refused = {{"result", "error"}, {"error-reason", "Parallel session limit reached"}};
  calls.offer("a", kOutside);
  EXPECT_EQ(calls.upstream_replies(refused), refused);
  EXPECT_EQ(calls.controller().call_count(), 0U);
  // It may be silent, too.
  calls.offer("a", kOutside);
  const auto id = calls.last_request();
  calls.pass(ng::kReplyPatience);
  EXPECT_EQ(text(calls.late_reply(id), "result"), "error");
  EXPECT_EQ(calls.controller().call_count(), 0U);
}

// --- Queries -------------------------------------------------------------------------------------

TEST(NgCalls, QueryTellsWhoTalksToWhom) {
  Established calls;
  const auto reply = calls.ask({{"command", "query"}});
  EXPECT_EQ(text(reply, "result"), "ok");
  EXPECT_EQ(reply["created"], 3600);
  EXPECT_EQ(reply["last signal"], 3600);
  EXPECT_EQ(reply["totals"]["RTP"]["packets"], 0);
  EXPECT_EQ(reply["tags"].size(), 2U);
  EXPECT_EQ(reply["tags"]["a"]["in dialogue with"], "b");
  const auto& medium = reply["tags"]["b"]["medias"][0];
  EXPECT_EQ(medium["type"], "audio");
  EXPECT_EQ(medium["protocol"], "RTP/AVP");
  EXPECT_EQ(medium["streams"][0]["endpoint"],
            json({{"family", "IPv4"}, {"address", "192.0.2.7"}, {"port", 7000}}));
  const auto deleted = calls.end("a");
  EXPECT_EQ(deleted["tags"], reply["tags"]);
}

TEST(NgCalls, ListNamesCalls) {
  Calls calls(kFirewall);
  EXPECT_EQ(calls.ask({{"command", "ping"}}), json({{"result", "pong"}}));
  for (int i = 0; i < 40; ++i)
    calls.offer("a", kInside, {{"call-id", "call-" + std::to_string(i)}});
  EXPECT_EQ(calls.ask({{"command", "list"}})["calls"].size(), ng::kListLimitDefault);
  EXPECT_EQ(calls.ask({{"command", "list"}, {"limit", 3}})["calls"].size(), 3U);
  EXPECT_EQ(calls.ask({{"command", "list"}, {"limit", 100}})["calls"].size(), 40U);
}

}  // namespace
}  // namespace simco::test
