// The contract of message_channel.hpp, for every channel.
#include <gtest/gtest.h>

#include <map>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"
#include "tests/unit/net/channel_pairs.hpp"

namespace simco::net {
namespace {

class ChannelTest : public testing::TestWithParam<ChannelKind> {
 protected:
  void SetUp() override {
    pair_ = GetParam().connect();
    near_ = pair_->near;
    far_ = pair_->far;
    ASSERT_TRUE(near_ && far_);
    far_->start(theirs_, {kMessageFramer});
    near_->start(ours_, {kMessageFramer});
  }
  void TearDown() override {
    for (auto* channel : {&near_, &far_}) {
      if (*channel) (*channel)->detach();
      channel->reset();
    }
    pair_.reset();
  }

  bool run_until(const std::function<bool()>& done) { return pair_->run_until(done); }
  void watch() { pair_->watch(); }

  /// A message of `size` octets.
  static test::Octets message(std::uint32_t tid, std::size_t size) {
    test::Octets octets(size, std::byte{0x5A});
    ByteWriter out(octets);
    out.u8(1);
    out.u8(0x15);
    out.u16(static_cast<std::uint16_t>(size - kHeaderSize));
    out.u32(tid);
    return octets;
  }
  /// Queues any `octets`.
  static bool queue(MessageChannel& from, std::span<const std::byte> octets) {
    const auto room = from.allocate(octets.size(), {});
    std::ranges::copy(octets, room.begin());
    return !room.empty();
  }
  /// Sends `count` requests on one stream.
  void send_requests(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_TRUE(send(*near_, {i * near_->outbound_streams()}, PrlRequest{}));
    }
    near_->flush();
  }
  std::uint32_t tid_of(std::size_t index) const {
    const std::span<const std::byte> octets(theirs_.messages.at(index));
    return read_header(octets.first<kHeaderSize>()).tid.value;
  }

  test::RecordingHandler ours_;
  test::RecordingHandler theirs_;
  std::unique_ptr<ChannelPair> pair_;
  std::shared_ptr<MessageChannel> near_;
  std::shared_ptr<MessageChannel> far_;
};

TEST_P(ChannelTest, MessagesOfAllSizesArriveWholeBothWays) {
  std::vector<test::Octets> sent;
  for (const std::size_t size : {8UZ, 12UZ, 64UZ, 1400UZ, 1401UZ, 9000UZ, 65'536UZ}) {
    sent.push_back(message(static_cast<std::uint32_t>(sent.size()), size));
    ASSERT_TRUE(queue(*near_, sent.back()));
    ASSERT_TRUE(queue(*far_, sent.back()));
    near_->flush();
    far_->flush();
  }
  ASSERT_TRUE(run_until([&] {
    return theirs_.messages.size() == sent.size() && ours_.messages.size() == sent.size();
  }));
  EXPECT_EQ(theirs_.messages, sent);
  EXPECT_EQ(ours_.messages, sent);
  ASSERT_TRUE(run_until([&] { return theirs_.reads > 0 && !theirs_.mid_message; }));
  EXPECT_FALSE(near_->peer_address().empty());
  EXPECT_EQ(near_->outbound_streams(), far_->inbound_streams());
}

TEST_P(ChannelTest, EachStreamKeepsItsOrder) {
  constexpr std::uint32_t kCount = 3000;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(send(*near_, {i}, PrsRequest{{i}}));
  }
  near_->flush();
  ASSERT_TRUE(run_until([&] { return theirs_.messages.size() == kCount; }));
  const std::uint32_t streams = near_->outbound_streams();
  std::map<std::uint32_t, std::uint32_t> next;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto tid = decode(theirs_.messages[i])->tid.value;
    const auto stream = theirs_.deliveries[i].stream.value;
    ASSERT_EQ(stream, tid % streams);
    ASSERT_EQ(tid, stream + streams * next[stream]++);
  }
}

TEST_P(ChannelTest, NothingLeavesBeforeItIsFlushed) {
  ASSERT_TRUE(send(*near_, {1}, PrlRequest{}));
  EXPECT_EQ(near_->queued(), kHeaderSize);
  watch();
  EXPECT_TRUE(theirs_.messages.empty());
  near_->flush();
  EXPECT_EQ(near_->queued(), 0U);
  EXPECT_TRUE(run_until([&] { return theirs_.messages.size() == 1; }));
}

TEST_P(ChannelTest, PausedInputIsNotLost) {
  theirs_.pause_after = 1;
  send_requests(20);
  ASSERT_TRUE(run_until([&] { return theirs_.messages.size() == 1; }));
  watch();
  EXPECT_EQ(theirs_.messages.size(), 1U);
  // Each time as far as the next pause, and never from inside the call.
  far_->resume_input();
  EXPECT_EQ(theirs_.messages.size(), 1U);
  ASSERT_TRUE(run_until([&] { return theirs_.messages.size() == 2; }));
  watch();
  EXPECT_EQ(theirs_.messages.size(), 2U);
  theirs_.pause_after = 0;
  far_->resume_input();
  ASSERT_TRUE(run_until([&] { return theirs_.messages.size() == 20; }));
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(tid_of(i), i * near_->outbound_streams());
}

TEST_P(ChannelTest, InputIsPausedFromOutsideAMessageToo) {
  far_->pause_input();
  send_requests(3);
  watch();
  EXPECT_TRUE(theirs_.messages.empty());
  far_->resume_input();
  far_->pause_input();
  watch();
  EXPECT_TRUE(theirs_.messages.empty());
  far_->resume_input();
  EXPECT_TRUE(run_until([&] { return theirs_.messages.size() == 3; }));
}

TEST_P(ChannelTest, AStoppedChannelDeliversNothingMore) {
  theirs_.stop_after = 2;
  send_requests(5);
  ASSERT_TRUE(run_until([&] { return theirs_.messages.size() == 2; }));
  send_requests(1);
  watch();
  EXPECT_EQ(theirs_.messages.size(), 2U);
  EXPECT_EQ(theirs_.closed, 0);
}

TEST_P(ChannelTest, WhatIsNotAMessageIsTheLast) {
  ASSERT_TRUE(queue(*near_, message(1, 64)));
  ASSERT_TRUE(queue(*near_, test::from_hex("01 22 0002 00000001 0000")));
  ASSERT_TRUE(queue(*near_, message(2, 64)));
  near_->flush();
  ASSERT_TRUE(run_until([&] { return theirs_.malformed.has_value(); }));
  watch();
  EXPECT_EQ(theirs_.malformed, FramingError::kImpossibleLength);
  EXPECT_EQ(theirs_.messages.size(), 1U);
  EXPECT_EQ(theirs_.closed, 0);
}

TEST_P(ChannelTest, AMessageOverTheHoldLimitIsCutOrWhole) {
  constexpr std::size_t kLimit = 100;
  far_->set_hold_limit(kLimit);
  ASSERT_TRUE(queue(*near_, message(1, 60'000)));
  ASSERT_TRUE(queue(*near_, message(2, 50)));
  near_->flush();
  ASSERT_TRUE(run_until([&] { return theirs_.messages.size() == 2; }));
  const auto size = theirs_.messages[0].size();
  EXPECT_TRUE(size == kLimit || size == 60'000) << size;
  EXPECT_EQ(tid_of(0), 1U);
  EXPECT_EQ(theirs_.messages[1], message(2, 50));
}

TEST_P(ChannelTest, TheQueueIsBoundedAndDrains) {
  theirs_.pause_after = 1;
  const Body list = PrlReply{std::vector<PolicyRuleId>(kRuleListMax, PolicyRuleId{7})};
  const std::uint32_t streams = near_->outbound_streams();
  std::uint32_t taken = 0;
  while (send(*near_, {taken * streams}, list)) {
    ++taken;
    near_->flush();
    ASSERT_LE(near_->queued(), kOutputQueueMax);
    ASSERT_LT(taken, 10'000U);
  }
  EXPECT_GT(near_->queued() + kMessageSizeMax, kOutputQueueMax);
  EXPECT_EQ(ours_.drained, 0);
  // To the brim, and behind it the last word of a session.
  std::uint32_t small = 0;
  while (send(*near_, {(taken + small) * streams}, StReply{})) ++small;
  EXPECT_TRUE(send(*near_, {(taken + small) * streams}, AstNotification{}));
  EXPECT_FALSE(send(*near_, {0}, AstNotification{}) && send(*near_, {0}, AstNotification{}));
  // The peer reads at last: everything that was taken arrives, whole and in order.
  theirs_.pause_after = 0;
  far_->resume_input();
  ASSERT_TRUE(run_until([&] { return theirs_.messages.size() > taken + small; }));
  for (std::uint32_t i = 0; i <= taken + small; ++i) {
    ASSERT_EQ(tid_of(i), i * streams);
    ASSERT_EQ(theirs_.messages[i].size(), i < taken ? kMessageSizeMax : kHeaderSize);
  }
  EXPECT_TRUE(run_until([&] { return ours_.drained >= 1; }));
  EXPECT_EQ(near_->queued(), 0U);
}

TEST_P(ChannelTest, CloseDeliversWhatIsQueued) {
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(send(*near_, {i}, StReply{}));
  near_->close();
  EXPECT_FALSE(send(*near_, {2}, StReply{}));
  ASSERT_TRUE(run_until([&] { return theirs_.closed == 1; }));
  EXPECT_EQ(theirs_.messages.size(), 100U);
  EXPECT_FALSE(theirs_.reason) << theirs_.reason.message();
  ASSERT_TRUE(run_until([&] { return ours_.closed == 1; }));
  EXPECT_FALSE(ours_.reason) << ours_.reason.message();
}

TEST_P(ChannelTest, CloseDropsInputThatComesMeanwhile) {
  theirs_.pause_after = 1;
  send_requests(500);
  ASSERT_TRUE(run_until([&] { return theirs_.messages.size() == 1; }));
  ASSERT_TRUE(send(*far_, {1}, StReply{}));
  far_->close();
  ASSERT_TRUE(run_until([&] { return ours_.closed == 1; }));
  EXPECT_EQ(ours_.messages.size(), 1U);
  EXPECT_FALSE(ours_.reason) << ours_.reason.message();
  ASSERT_TRUE(run_until([&] { return theirs_.closed == 1; }));
  EXPECT_EQ(theirs_.messages.size(), 1U);
}

TEST_P(ChannelTest, AUserMayCloseWithinAMessage) {
  theirs_.then = [&] { far_->close(); };
  send_requests(5);
  ASSERT_TRUE(run_until([&] { return theirs_.closed == 1 && ours_.closed == 1; }));
  EXPECT_EQ(theirs_.messages.size(), 1U);
}

TEST_P(ChannelTest, AUserMayDetachWithinAMessage) {
  int reads = -1;
  theirs_.then = [&] {
    reads = theirs_.reads;
    far_->detach();
  };
  send_requests(5);
  ASSERT_TRUE(run_until([&] { return ours_.closed == 1; }));
  EXPECT_EQ(theirs_.messages.size(), 1U);
  EXPECT_EQ(theirs_.closed, 0);
  EXPECT_EQ(theirs_.reads, reads);
}

TEST_P(ChannelTest, AfterTheEndNothingHappens) {
  far_->detach();
  ASSERT_TRUE(run_until([&] { return ours_.closed == 1; }));
  for (auto* channel : {near_.get(), far_.get()}) {
    EXPECT_TRUE(channel->allocate(8, {}).empty());
    channel->flush();
    channel->pause_input();
    channel->resume_input();
    channel->close();
    channel->detach();
  }
  watch();
  EXPECT_EQ(ours_.closed, 1);
  EXPECT_EQ(theirs_.closed, 0);
}

std::string name_of(const testing::TestParamInfo<ChannelKind>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Any, ChannelTest, testing::ValuesIn(channel_kinds()), name_of);
INSTANTIATE_TEST_SUITE_P(Kernel, ChannelTest, testing::ValuesIn(kernel_channel_kinds()), name_of);

}  // namespace
}  // namespace simco::net
