// Calls in front of a media proxy.
#include <gtest/gtest.h>

#include "agent/ng/call/limits.hpp"
#include "tests/unit/ng/calls.hpp"

namespace simco::test {
namespace {

using nlohmann::json;
using enum Calls::Box;

/// A media proxy at 10.0.0.200 that has two ports for a call.
struct WithUpstream : Calls {
  explicit WithUpstream(bool counts = false) : Calls(kFirewall, upstream_options(counts)) {}
  static ng::CallOptions upstream_options(bool counts) {
    auto result = options();
    result.upstream = true;
    result.counts = counts;
    return result;
  }
  static json ok(int port) {
    return {{"result", "ok"},
            {"sdp", sdp("10.0.0.200", {"audio " + std::to_string(port) + " RTP/AVP 0"})}};
  }
  /// An offer and its answer, each with the proxy's reply.
  void establish(const std::string& from, const std::string& to,
                 const json& more = json::object()) {
    offer("a", from, more);
    upstream_replies(ok(30000));
    answer("a", "b", to, more);
    upstream_replies(ok(30002));
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

TEST(NgCalls, AMediaProxyHearsNothingOfARefusedReInvite) {
  WithUpstream calls;
  calls.establish(kOutside, kInside);
  const auto before = calls.open();
  calls.offer("a", kOutside, {{"to-tag", "b"}});
  calls.upstream_replies(WithUpstream::ok(30000));
  const auto heard = calls.passed_on.size();
  EXPECT_EQ(text(calls.end("a", {{"to-tag", "b"}}), "result"), "ok");
  EXPECT_EQ(calls.passed_on.size(), heard);
  EXPECT_EQ(calls.open(), before);
  EXPECT_TRUE(calls.end("a").is_null());
  EXPECT_EQ(calls.passed_on.size(), heard + 1);
}

// The call ends at the middlebox too late for a reply; its ports at the proxy must be free again.
TEST(NgCalls, AMediaProxyHearsOfADeleteThatHasWaitedTooLong) {
  WithUpstream calls;
  calls.offer("a", kOutside);
  calls.upstream_replies(WithUpstream::ok(30000));
  calls.silent = true;
  calls.answer("a", "b", kInside);
  calls.upstream_replies(WithUpstream::ok(30002));
  EXPECT_TRUE(calls.end("a").is_null());
  const auto id = calls.last_request();
  calls.pass(ng::kReplyPatience);
  EXPECT_EQ(text(calls.late_reply(id), "result"), "error");
  ASSERT_NE(calls.passed_on.back(), id);
  calls.silent = false;
  calls.pass(std::chrono::milliseconds(1));
  EXPECT_EQ(calls.passed_on.back(), id);
  EXPECT_EQ(calls.controller().call_count(), 0U);
  EXPECT_EQ(calls.rules(), "");
  EXPECT_EQ(text(calls.upstream_replies({{"result", "ok"}}), "result"), "error") << "as before";
}

TEST(NgCalls, ARuleThatIsStillCountedMayOutliveItsCall) {
  WithUpstream calls(true);
  calls.establish(kOutside, kInside);
  ASSERT_EQ(calls.open(), "10.0.0.200:30002/2 192.0.2.7:7000/2");
  calls.counters_late = true;
  calls.establish(sdp("192.0.2.7", {"audio 7100 RTP/AVP 0"}), kInside, {{"to-tag", "b"}});
  calls.end("a");
  calls.upstream_replies({{"result", "ok"}});
  EXPECT_EQ(calls.controller().call_count(), 0U);
  calls.end_rule({1});
  calls.counters_late = false;
  calls.pass(std::chrono::seconds(1));
  EXPECT_EQ(calls.rules(), "");
}

TEST(NgCalls, AnInternalPartyOfAMediaProxyNeedsNoRule) {
  WithUpstream calls;
  calls.establish(kInside, kOutside);
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
    EXPECT_EQ(text(calls.late_reply(id), "error-reason"), "The media proxy does not reply");
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
  EXPECT_EQ(text(calls.late_reply(id), "error-reason"), "The media proxy does not reply");
  EXPECT_EQ(calls.controller().call_count(), 0U);
}

}  // namespace
}  // namespace simco::test
