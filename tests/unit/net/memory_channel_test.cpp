// The channel that simulations run over: it has to behave as TCP and SCTP do.
#include "tests/support/memory_channel.hpp"

#include <gtest/gtest.h>

#include <random>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"

namespace simco::test {
namespace {

using boost::system::error_code;
using net::Transport;
using namespace std::chrono_literals;

/// Two ends of a connection and their users.
struct Ends {
  explicit Ends(const MemoryPath& path = {}) {
    std::tie(near, far) = MemoryChannel::make_pair(time, path);
    near->start(ours, {kMessageFramer});
    far->start(theirs, {kMessageFramer});
  }
  ~Ends() {
    near->detach();
    far->detach();
  }
  /// Queues a message of `size` octets.
  static bool send(MemoryChannel& from, std::uint32_t tid, std::size_t size = kHeaderSize,
                   net::Delivery delivery = {}) {
    const auto room = from.allocate(size, delivery, net::kOutputQueueMax);
    if (room.empty()) return false;
    ByteWriter out(room);
    out.u8(1);
    out.u8(0x15);
    out.u16(static_cast<std::uint16_t>(size - kHeaderSize));
    out.u32(tid);
    return true;
  }
  static std::uint32_t tid_of(const Octets& message) {
    return read_header(std::span(message).first<kHeaderSize>()).tid.value;
  }
  std::vector<std::uint32_t> tids_received() const {
    std::vector<std::uint32_t> result;
    for (const auto& message : theirs.messages) result.push_back(tid_of(message));
    return result;
  }
  void run() { time.run_until(time.now() + 10s); }

  VirtualTime time;
  RecordingHandler ours;
  RecordingHandler theirs;
  std::shared_ptr<MemoryChannel> near;
  std::shared_ptr<MemoryChannel> far;
};

MemoryPath association(std::uint16_t streams = 16) {
  MemoryPath path;
  path.transport = Transport::kSctp;
  path.streams = streams;
  return path;
}

class MemoryChannelTest : public testing::TestWithParam<Transport> {
 protected:
  static MemoryPath path() { return GetParam() == Transport::kTcp ? MemoryPath{} : association(1); }
};

TEST_P(MemoryChannelTest, MessagesArriveWhenTheirTimeHasCome) {
  auto slow = path();
  slow.delay = [] { return 10ms; };
  Ends ends(slow);
  const auto begin = ends.time.now();
  ends.send(*ends.near, 1);
  ends.send(*ends.near, 2, 1000);
  EXPECT_EQ(ends.near->queued(), 1008U);
  ends.near->flush();
  EXPECT_EQ(ends.near->queued(), 0U);
  EXPECT_TRUE(ends.theirs.messages.empty());
  ends.time.run_until(begin + 9ms);
  EXPECT_TRUE(ends.theirs.messages.empty());
  ends.time.run_until(begin + 10ms);
  EXPECT_EQ(ends.tids_received(), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(ends.near->peer_address(), "192.0.2.2");
  EXPECT_EQ(ends.far->peer_address(), "192.0.2.1");
}

TEST_P(MemoryChannelTest, NoneOvertakesAnotherInItsStream) {
  std::mt19937 random(1);
  auto jittery = path();
  jittery.delay = [&] { return std::chrono::microseconds(random() % 1000); };
  Ends ends(jittery);
  std::vector<std::uint32_t> sent;
  for (std::uint32_t i = 0; i < 500; ++i) {
    sent.push_back(i);
    ASSERT_TRUE(ends.send(*ends.near, i, 8 + random() % 200 * 4));
    ends.near->flush();
    ends.time.run_for(std::chrono::microseconds(random() % 100));
  }
  ends.run();
  EXPECT_EQ(ends.tids_received(), sent);
}

TEST(MemoryAssociation, StreamsDoNotWaitForEachOther) {
  auto path = association();
  std::vector<Instant::duration> delays = {50ms, 10ms, 20ms, 1ms};
  std::size_t next = 0;
  path.delay = [&] { return delays.at(next++ % delays.size()); };
  Ends ends(path);
  ends.send(*ends.near, 0, 8, {net::StreamId{3}});
  ends.send(*ends.near, 1, 8, {net::StreamId{3}});        // behind the first
  ends.send(*ends.near, 2, 8, {net::StreamId{4}});        // before both
  ends.send(*ends.near, 3, 8, {net::StreamId{3}, true});  // unordered: before all
  ends.near->flush();
  ends.time.run_for(50ms);
  EXPECT_EQ(ends.tids_received(), (std::vector<std::uint32_t>{3, 2, 0, 1}));
  EXPECT_TRUE(ends.theirs.deliveries[0].unordered);
  EXPECT_EQ(ends.theirs.deliveries[1].stream, net::StreamId{4});
}

TEST(MemoryStream, SegmentsBreakMessagesOff) {
  MemoryPath path;
  path.segment = 10;
  int segments = 0;
  path.delay = [&] { return ++segments * 1ms; };
  Ends ends(path);
  ends.send(*ends.near, 1, 12);
  ends.send(*ends.near, 2, 8);
  ends.near->flush();
  ends.time.run_for(1ms);
  EXPECT_TRUE(ends.theirs.messages.empty());
  EXPECT_TRUE(ends.theirs.mid_message);
  ends.time.run_for(1ms);
  EXPECT_EQ(ends.tids_received(), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_FALSE(ends.theirs.mid_message);
}

TEST_P(MemoryChannelTest, MessagesOverTheHoldLimitAreCut) {
  auto pieces = path();
  pieces.segment = 1000;
  Ends ends(pieces);
  ends.far->set_hold_limit(100);
  ends.send(*ends.near, 1, 5000);
  ends.send(*ends.near, 2, 50);
  ends.near->flush();
  ends.run();
  ASSERT_EQ(ends.theirs.messages.size(), 2U);
  EXPECT_EQ(ends.theirs.messages[0].size(), 100U);
  EXPECT_EQ(ends.theirs.messages[1].size(), 50U);
  EXPECT_EQ(ends.tids_received(), (std::vector<std::uint32_t>{1, 2}));
}

TEST_P(MemoryChannelTest, APeerThatPausesHoldsTheSenderUp) {
  auto narrow = path();
  narrow.window = 4000;
  narrow.delay = [] { return 1ms; };
  Ends ends(narrow);
  ends.theirs.pause_after = 1;
  std::uint32_t sent = 0;
  while (ends.send(*ends.near, sent, 1000)) {
    ++sent;
    ends.near->flush();
    ends.time.run_for(5ms);
    ASSERT_LT(sent, 2000U);
  }
  // What is under way and unread is bounded, and so is the queue.
  EXPECT_EQ(ends.theirs.messages.size(), 1U);
  EXPECT_EQ(ends.far->unread(), 4000U);
  EXPECT_GT(ends.near->queued() + 1000, net::kOutputQueueMax);
  EXPECT_EQ(ends.ours.drained, 0);
  ends.theirs.pause_after = 0;
  ends.far->resume_input();
  EXPECT_EQ(ends.theirs.messages.size(), 1U);  // not from inside the call
  ends.run();
  ASSERT_EQ(ends.theirs.messages.size(), sent);
  for (std::uint32_t i = 0; i < sent; ++i) ASSERT_EQ(ends.tid_of(ends.theirs.messages[i]), i);
  EXPECT_EQ(ends.near->queued(), 0U);
  EXPECT_EQ(ends.ours.drained, 1);
}

TEST_P(MemoryChannelTest, CloseDeliversWhatIsQueued) {
  auto narrow = path();
  narrow.window = 100;
  narrow.delay = [] { return 1ms; };
  Ends ends(narrow);
  ends.send(*ends.far, 7);
  ends.far->flush();
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(ends.send(*ends.near, i));
  ends.near->close();
  EXPECT_FALSE(ends.send(*ends.near, 100));
  ends.run();
  EXPECT_EQ(ends.theirs.messages.size(), 100U);
  EXPECT_EQ(ends.theirs.closed, 1);
  EXPECT_FALSE(ends.theirs.reason);
  EXPECT_EQ(ends.ours.closed, 1);
  EXPECT_FALSE(ends.ours.reason);
  EXPECT_TRUE(ends.ours.messages.empty());  // input is dropped from close() on
}

TEST_P(MemoryChannelTest, AClosedChannelDoesNotWaitForEver) {
  Ends ends(path());
  ends.theirs.pause_after = 1;
  ends.send(*ends.near, 1);
  ends.near->close();
  ends.time.run_for(net::kCloseTimeout - 1ms);
  EXPECT_EQ(ends.ours.closed, 0);
  ends.time.run_for(1ms);
  EXPECT_EQ(ends.ours.closed, 1);
}

TEST_P(MemoryChannelTest, TheOtherEndOfADetachedChannelIsReset) {
  Ends ends(path());
  ends.send(*ends.near, 1);
  ends.near->flush();
  ends.near->detach();
  ends.run();
  EXPECT_EQ(ends.ours.closed, 0);
  EXPECT_EQ(ends.theirs.messages.size(), 1U);
  EXPECT_EQ(ends.theirs.closed, 1);
  EXPECT_TRUE(ends.theirs.reason);
}

TEST_P(MemoryChannelTest, ACutLosesWhatIsUnderWay) {
  auto slow = path();
  slow.delay = [] { return 5ms; };
  Ends ends(slow);
  ends.send(*ends.near, 1);
  ends.near->flush();
  ends.time.run_for(5ms);
  ends.send(*ends.near, 2);
  ends.near->flush();
  ends.send(*ends.far, 3);
  ends.far->flush();
  ends.near->cut(boost::asio::error::timed_out);
  ends.run();
  EXPECT_EQ(ends.tids_received(), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(ends.ours.messages.empty());
  for (const auto* user : {&ends.ours, &ends.theirs}) {
    EXPECT_EQ(user->closed, 1);
    EXPECT_EQ(user->reason, error_code(boost::asio::error::timed_out));
  }
}

TEST_P(MemoryChannelTest, ACutWhileInputIsPausedIsNoticedWhenSending) {
  Ends ends(path());
  ends.theirs.pause_after = 1;
  ends.send(*ends.near, 1);
  ends.near->flush();
  ends.run();
  ends.near->cut();
  ends.run();
  EXPECT_EQ(ends.theirs.closed, 0);
  ends.send(*ends.far, 2);
  ends.far->flush();
  EXPECT_EQ(ends.theirs.closed, 0);  // not from inside the call
  ends.run();
  EXPECT_EQ(ends.theirs.closed, 1);
}

// Whichever read or write fails, both ends hear of the end, once each.
TEST_P(MemoryChannelTest, EveryCallMayFail) {
  const auto talk = [](Ends& ends) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      ends.send(*ends.near, i);
      ends.near->flush();
      ends.run();
      ends.send(*ends.far, i);
      ends.far->flush();
      ends.run();
    }
  };
  std::size_t calls = 0;
  {
    Ends ends(path());
    talk(ends);
    EXPECT_EQ(ends.theirs.messages.size(), 3U);
    EXPECT_EQ(ends.theirs.closed, 0);
    calls = ends.near->calls();
  }
  EXPECT_EQ(calls, 6U);
  for (std::size_t call = 1; call <= calls; ++call) {
    Ends ends(path());
    ends.near->fail_at(call, boost::asio::error::broken_pipe);
    talk(ends);
    EXPECT_EQ(ends.theirs.messages.size(), call / 2) << call;
    EXPECT_EQ(ends.ours.messages.size(), (call - 1) / 2) << call;
    EXPECT_EQ(ends.ours.closed, 1) << call;
    EXPECT_EQ(ends.ours.reason, error_code(boost::asio::error::broken_pipe)) << call;
    EXPECT_EQ(ends.theirs.closed, 1) << call;
    EXPECT_TRUE(ends.theirs.reason) << call;
  }
}

std::string name_of(const testing::TestParamInfo<Transport>& info) {
  return info.param == Transport::kTcp ? "Stream" : "Association";
}
INSTANTIATE_TEST_SUITE_P(Either, MemoryChannelTest,
                         testing::Values(Transport::kTcp, Transport::kSctp), name_of);

}  // namespace
}  // namespace simco::test
