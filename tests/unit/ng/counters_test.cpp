// What calls tell of their packets, and when silence ends them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/ng/calls.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using enum Calls::Box;

const std::string kHost = sdp("10.0.0.5", {"audio 6000 RTP/AVP 0"});
const std::string kPeer = sdp("192.0.2.7", {"audio 7000 RTP/AVP 0"});
constexpr auto kTimeout = 60s;

ng::CallOptions counting(std::chrono::seconds media_timeout = 0s) {
  auto options = Calls::options();
  options.counts = true;
  options.media_timeout = media_timeout;
  return options;
}

/// A call that is up, of 10.0.0.5:6000 and 192.0.2.7:7000.
struct Counted : Calls {
  explicit Counted(std::chrono::seconds media_timeout = 0s, Box box = kFirewall)
      : Calls(box, counting(media_timeout)) {
    offer("a", kHost);
    answer("a", "b", kPeer);
  }
  bool logged(const std::string& text) const {
    return std::ranges::any_of(lines, [&](const auto& line) { return line.contains(text); });
  }
};

json query(Calls& calls) { return calls.ask({{"command", "query"}}); }

json totals(std::uint64_t rtp, std::uint64_t rtcp) {
  const auto part = [](std::uint64_t packets) {
    return json{{"packets", packets}, {"bytes", packets * 100}, {"errors", 0}};
  };
  return {{"RTP", part(rtp)}, {"RTCP", part(rtcp)}};
}

TEST(NgCounters, QueryAndDeleteTellRtpAndRtcpOfTheirOwn) {
  for (const auto box : {kFirewall, kNat}) {
    Counted calls(0s, box);
    EXPECT_EQ(query(calls)["totals"], totals(0, 0));
    calls.packets(6000, 50);
    calls.packets(6001, 2);
    EXPECT_EQ(query(calls)["totals"], totals(50, 2));
    calls.packets(6000, 7);
    const auto reply = calls.end("a");
    EXPECT_EQ(reply["totals"], totals(57, 2));
    EXPECT_FALSE(reply.contains("warning"));
    EXPECT_EQ(calls.rules(), "");
  }
}

TEST(NgCounters, RtcpOfItsOwnRuleAndMuxedRtcp) {
  Calls apart(kFirewall, counting());
  apart.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=rtcp:6009"}));
  apart.answer("a", "b", kPeer);
  apart.packets(6000, 5);
  apart.packets(6009, 3);
  EXPECT_EQ(query(apart)["totals"], totals(5, 3));
  Calls mux(kFirewall, counting());
  mux.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0|a=rtcp-mux"}));
  mux.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0|a=rtcp-mux"}));
  mux.packets(6000, 5);
  EXPECT_EQ(query(mux)["totals"], totals(5, 0));
}

TEST(NgCounters, RulesThatAMoveHasEndedStillCount) {
  Counted calls;
  calls.packets(6000, 50);
  calls.offer("a", kHost, {{"to-tag", "b"}});
  calls.answer("a", "b", sdp("192.0.2.8", {"audio 7100 RTP/AVP 0"}));
  EXPECT_EQ(calls.open(), "10.0.0.5:6000/2 192.0.2.8:7100/2");
  calls.packets(6000, 8);
  EXPECT_EQ(query(calls)["totals"], totals(58, 0));
  calls.restart();  // what is stored
  EXPECT_EQ(query(calls)["totals"], totals(58, 0));
}

// RTCP stays RTCP, and no packet counts twice, whatever the parties say later.
TEST(NgCounters, APartyThatLeavesAPortTakesNothingAlong) {
  Counted calls;
  calls.packets(6000, 50);
  calls.packets(6001, 2);
  query(calls);
  calls.offer("a", sdp("10.0.0.5", {"audio 6500 RTP/AVP 0"}), {{"to-tag", "b"}});
  calls.answer("a", "b", kPeer);
  ASSERT_EQ(calls.open(), "10.0.0.5:6500/2 192.0.2.7:7000/2");
  EXPECT_EQ(query(calls)["totals"], totals(50, 2));
}

TEST(NgCounters, ARuleThatIsBeingAskedForTheLastTimeStillCounts) {
  Counted calls;
  calls.packets(6000, 50);
  query(calls);
  calls.counters_late = true;
  query(calls);
  const auto asked = calls.last_request();
  calls.offer("a", kHost, {{"to-tag", "b"}});
  calls.answer("a", "b", sdp("192.0.2.8", {"audio 7100 RTP/AVP 0"}));
  calls.counters_late = false;
  calls.pass(1ms);
  EXPECT_EQ(calls.late_reply(asked)["totals"], totals(50, 0));
}

TEST(NgCounters, AMiddleboxThatCountsFromZeroAgainTakesNothingAway) {
  for (const std::uint64_t since : {3U, 60U}) {
    Counted calls;
    calls.packets(6000, 50);
    query(calls);
    calls.reset_counters();
    calls.packets(6000, since);
    EXPECT_EQ(query(calls)["totals"], totals(50 + since, 0));
    calls.restart();  // what is stored
    EXPECT_EQ(query(calls)["totals"], totals(50 + since, 0));
  }
}

TEST(NgCounters, WithoutCountersNothingIsAsked) {
  Calls calls(kFirewall);
  calls.offer("a", kHost);
  calls.answer("a", "b", kPeer);
  EXPECT_EQ(query(calls)["totals"], totals(0, 0));
  calls.end("a");
  EXPECT_EQ(calls.questions, 0U);
}

TEST(NgCounters, WhenTheyCannotBeReadRequestsAreServedNevertheless) {
  Counted calls;
  calls.packets(6000, 50);
  query(calls);
  calls.packets(6000, 50);
  calls.counters_fault = "nobody listens";
  const auto reply = query(calls);
  EXPECT_EQ(reply["totals"], totals(50, 0));
  EXPECT_TRUE(reply.contains("warning"));
  query(calls);
  const auto said = [&](const std::string& text) {
    return std::ranges::count_if(calls.lines,
                                 [&](const auto& line) { return line.contains(text); });
  };
  EXPECT_EQ(said("cannot be read"), 1) << "once";
  EXPECT_EQ(said("nobody listens"), 1);
  EXPECT_EQ(calls.end("a")["result"], "ok");
  EXPECT_EQ(calls.rules(), "");
  calls.counters_fault = "";
  calls.offer("a", kHost);
  calls.answer("a", "b", kPeer);
  EXPECT_FALSE(query(calls).contains("warning"));
  EXPECT_EQ(said("can be read again"), 1);
}

TEST(NgCounters, DeletesTryThemAgainNowAndThen) {
  Counted calls;
  const auto call_ends = [&] {
    calls.offer("a", kHost);
    calls.answer("a", "b", kPeer);
    calls.packets(6000, 5);
    return calls.end("a");
  };
  calls.counters_fault = "nobody listens";
  EXPECT_TRUE(call_ends().contains("warning"));
  const auto asked = calls.questions;
  EXPECT_TRUE(call_ends().contains("warning"));
  EXPECT_EQ(calls.questions, asked) << "not each of them";
  calls.counters_fault = "";
  calls.pass(ng::kCountersRetry);
  const auto reply = call_ends();
  EXPECT_FALSE(reply.contains("warning"));
  EXPECT_EQ(reply["totals"], totals(5, 0));
}

TEST(NgCounters, ADeleteIsAnsweredOnceTheyAreThere) {
  Counted calls;
  calls.packets(6000, 50);
  calls.counters_late = true;
  EXPECT_EQ(calls.end("a"), json());
  EXPECT_NE(calls.rules(), "");
  calls.counters_late = false;
  calls.pass(1ms);
  EXPECT_EQ(calls.late_reply(calls.last_request())["totals"], totals(50, 0));
  EXPECT_EQ(calls.rules(), "");
}

// --- Silence -------------------------------------------------------------------------------------

TEST(NgCounters, SilenceEndsACall) {
  Counted calls(kTimeout);
  for (int i = 0; i < 5; ++i) {
    calls.pass(kTimeout / 2);
    calls.packets(6000, 1);
  }
  calls.pass(kTimeout - 1s);
  EXPECT_NE(calls.rules(), "") << "not before the time is over";
  calls.pass(1s + ng::kReadingPauseMax);
  EXPECT_EQ(calls.rules(), "");
  EXPECT_EQ(calls.controller().call_count(), 0U);
  EXPECT_EQ(calls.media_timeouts, 1U);
  EXPECT_TRUE(calls.logged("no packet of its media for "));
  EXPECT_TRUE(calls.documents().empty());
}

TEST(NgCounters, RtcpAloneKeepsACall) {
  Counted calls(kTimeout);
  for (int i = 0; i < 10; ++i) {
    calls.pass(kTimeout / 2);
    calls.packets(6001, 1);
  }
  EXPECT_EQ(calls.media_timeouts, 0U);
}

TEST(NgCounters, OneMediumThatTalksKeepsTheCall) {
  Calls calls(kFirewall, counting(kTimeout));
  calls.offer("a", sdp("10.0.0.5", {"audio 6000 RTP/AVP 0", "video 6100 RTP/AVP 99"}));
  calls.answer("a", "b", sdp("192.0.2.7", {"audio 7000 RTP/AVP 0", "video 7100 RTP/AVP 99"}));
  for (int i = 0; i < 10; ++i) {
    calls.pass(kTimeout / 2);
    calls.packets(6100, 1);
  }
  EXPECT_EQ(calls.media_timeouts, 0U);
}

TEST(NgCounters, WithoutAnAnswerThereIsNoMediaToBeSilent) {
  Calls calls(kNat, counting(kTimeout));
  calls.offer("a", kHost);
  calls.pass(2 * kTimeout);
  EXPECT_EQ(calls.media_timeouts, 0U);
  calls.answer("a", "b", kPeer);
  EXPECT_EQ(calls.controller().call_count(), 1U);
}

TEST(NgCounters, NoCallIsEndedWhileCountersCannotBeRead) {
  Counted calls(kTimeout);
  calls.counters_fault = "nobody listens";
  calls.pass(10 * kTimeout);
  EXPECT_EQ(calls.media_timeouts, 0U);
  EXPECT_NE(calls.rules(), "");
  EXPECT_TRUE(calls.logged("no call is ended for silence: nobody listens"));
  calls.packets(6000, 1);
  calls.counters_fault = "";
  calls.pass(kTimeout / 2);
  EXPECT_EQ(calls.media_timeouts, 0U);
  calls.pass(kTimeout);
  EXPECT_EQ(calls.media_timeouts, 1U);
}

// After a restart of the middlebox, or when others have flushed its table, it does not know what
// has passed.
TEST(NgCounters, SilenceIsMeasuredFromWhereCountsAreComplete) {
  Counted calls(kTimeout);
  calls.pass(kTimeout - ng::kReadingPauseMax - 1s);
  calls.reset_counters();
  calls.pass(kTimeout - 1s);
  EXPECT_EQ(calls.media_timeouts, 0U);
  calls.pass(1s + ng::kReadingPauseMax);
  EXPECT_EQ(calls.media_timeouts, 1U);
}

TEST(NgCounters, SilenceIsNoticedAfterARestartToo) {
  Counted calls(kTimeout);
  calls.pass(kTimeout / 2);
  calls.restart();
  calls.pass(kTimeout + ng::kReadingPauseMax);
  EXPECT_EQ(calls.media_timeouts, 1U);
}

TEST(NgCounters, WithoutTheTimeoutSilenceEndsNothing) {
  Counted calls;
  calls.pass(10 * kTimeout);
  EXPECT_EQ(calls.questions, 0U);
  EXPECT_NE(calls.rules(), "");
}

}  // namespace
}  // namespace simco::test
