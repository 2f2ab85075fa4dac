// Repetitions of requests.
#include "agent/ng/protocol/reply_cache.hpp"

#include <gtest/gtest.h>

#include "agent/ng/protocol/limits.hpp"

namespace simco::ng {
namespace {

using namespace std::chrono_literals;
using State = ReplyCache::State;

TEST(NgReplyCache, ARepetitionGetsTheFirstReply) {
  ReplyCache cache;
  Instant now{1h};
  EXPECT_EQ(cache.look_up("127.0.0.1:5000", "1", now).state, State::kNew);
  EXPECT_EQ(cache.look_up("127.0.0.1:5000", "1", now).state, State::kUnderWay);
  cache.keep("127.0.0.1:5000", "1", "1 de", now);
  const auto found = cache.look_up("127.0.0.1:5000", "1", now + 29s);
  EXPECT_EQ(found.state, State::kReplied);
  EXPECT_EQ(found.reply, "1 de");
}

TEST(NgReplyCache, SendersAreKeptApart) {
  ReplyCache cache;
  const Instant now{1h};
  cache.look_up("127.0.0.1:5000", "1", now);
  EXPECT_EQ(cache.look_up("127.0.0.1:5001", "1", now).state, State::kNew);
  EXPECT_EQ(cache.look_up("127.0.0.1:5000", "2", now).state, State::kNew);
}

TEST(NgReplyCache, RepliesAreForgotten) {
  ReplyCache cache;
  const Instant now{1h};
  cache.look_up("a", "1", now);
  cache.keep("a", "1", "reply", now);
  EXPECT_EQ(cache.look_up("a", "1", now + kRepliesKeptFor).state, State::kNew);
  EXPECT_EQ(cache.octets(), 0U);
}

TEST(NgReplyCache, OctetsAreBounded) {
  ReplyCache cache;
  const Instant now{1h};
  const std::string large(kRepliesOctetsMax / 4, 'x');
  for (int i = 0; i < 10; ++i) {
    cache.look_up("a", std::to_string(i), now);
    cache.keep("a", std::to_string(i), large, now);
  }
  EXPECT_LE(cache.octets(), kRepliesOctetsMax);
  EXPECT_EQ(cache.look_up("a", "0", now).state, State::kNew);
  EXPECT_EQ(cache.look_up("a", "9", now).state, State::kReplied);
}

}  // namespace
}  // namespace simco::ng
