// What ends a call, or a part of it; what is refused; and what query and list tell.
#include <gtest/gtest.h>

#include "agent/ng/call/limits.hpp"
#include "tests/unit/ng/calls.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using enum Calls::Box;

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

// The parties have agreed, whatever has become of it here: the delete is that of a BYE.
TEST(NgCalls, AReInviteWhoseAnswerFailedIsNotWithdrawn) {
  auto strict = Calls::options();
  strict.media.strict_source = true;
  const json from_inside = {{"received-from", {"IP4", "10.0.0.5"}}};
  const auto established = [&](Calls& calls) {
    calls.offer("a", kInside, from_inside);
    calls.answer("a", "b", kOutside);
    calls.offer("b", kOutside, {{"to-tag", "a"}});
  };
  const auto ends = [&](Calls& calls) {
    EXPECT_EQ(text(calls.end("b"), "result"), "ok");
    EXPECT_EQ(calls.controller().call_count(), 0U);
    EXPECT_EQ(calls.open(), "");
  };
  {
    Calls calls(kFirewall, strict);
    established(calls);
    const auto refused = calls.answer("b", "a", sdp("10.0.0.6", {"audio 6000 RTP/AVP 0"}));
    EXPECT_EQ(text(refused, "result"), "error");
    calls.restart();
    ends(calls);
  }
  {
    Calls calls(kFirewall, strict);
    established(calls);
    calls.lose_session();
    calls.pass(1s);
    EXPECT_EQ(text(calls.answer("b", "a", kInside, from_inside), "result"), "error");
    calls.connect();
    ends(calls);
  }
  {  // the middlebox is silent
    Calls calls(kFirewall, strict);
    established(calls);
    calls.silent = true;
    const auto moved = sdp("10.0.0.5", {"audio 6500 RTP/AVP 0"});
    EXPECT_TRUE(calls.answer("b", "a", moved, from_inside).is_null());
    calls.pass(ng::kReplyPatience);
    EXPECT_EQ(text(calls.late_reply(calls.last_request()), "result"), "error");
    calls.silent = false;
    calls.pass(1ms);
    ends(calls);
  }
}

// Both parties have made a re-offer at the same time (RFC 3261 section 14.1): both are refused, and
// the proxy sends a delete for each.
TEST(NgCalls, TwoRefusedReInvitesDoNotCutTheCall) {
  Established calls;
  calls.offer("a", sdp("10.0.0.5", {"audio 6500 RTP/AVP 0"}), {{"to-tag", "b"}});
  calls.offer("b", sdp("192.0.2.7", {"audio 7500 RTP/AVP 0"}), {{"to-tag", "a"}});
  calls.end("a");
  calls.end("b");
  EXPECT_EQ(calls.open(), kRule);
  calls.end("b");
  EXPECT_EQ(calls.open(), "");
}

// Its reply must not be known before: simco-ng may be killed between both.
TEST(NgCalls, ACallIsForgottenBeforeTheReplyToItsDelete) {
  Established calls;
  EXPECT_EQ(calls.documents().size(), 1U);
  calls.on_reply = [&] { EXPECT_EQ(calls.documents().size(), 0U); };
  calls.end("a");
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

// Session timers (RFC 4028) make many of them in a long call.
TEST(NgCalls, ACallMayHaveAnyNumberOfReOffers) {
  Established calls;
  for (std::size_t i = 0; i < 2 * ng::kOffersMax; ++i) {
    const json branch = {{"via-branch", "z" + std::to_string(i)}};
    EXPECT_EQ(text(calls.offer("a", kInside, branch), "result"), "ok") << i;
    EXPECT_EQ(text(calls.answer("a", "b", kOutside, branch), "result"), "ok") << i;
  }
  EXPECT_EQ(calls.open(), kRule);
}

// Rules that are there already do not count again.
TEST(NgCalls, ACallWithManyRulesMayBeRefreshed) {
  std::string medium = "audio 7000 RTP/AVP 0|a=ice-ufrag:x";
  const auto peers = ng::kRulesOfCallMax / 2 - 1;  // two rules for each
  for (std::size_t i = 1; i < peers; ++i) {
    medium += "|a=candidate:1 1 UDP 1 203.0.113." + std::to_string(i) + " 7000 typ host";
  }
  const auto inside = sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=ice-ufrag:y"});
  Calls calls(kFirewall);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(text(calls.offer("a", inside), "result"), "ok");
    EXPECT_EQ(text(calls.answer("a", "b", sdp("192.0.2.7", {medium})), "result"), "ok");
    EXPECT_EQ(calls.controller().rule_count(), 2 * peers);
  }
}

TEST(NgCalls, OffersWithoutAnswerAreBounded) {
  Calls calls(kFirewall);
  const auto offer = [&](std::size_t i) {
    return text(calls.offer("a", kInside, {{"via-branch", std::to_string(i)}}), "error-reason");
  };
  for (std::size_t i = 0; i < ng::kOffersMax; ++i) EXPECT_EQ(offer(i), "");
  EXPECT_EQ(offer(ng::kOffersMax), "Too many offers for one call");
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
