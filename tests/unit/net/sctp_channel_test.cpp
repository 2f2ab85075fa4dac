// What only SCTP has, over both stacks and between them; channel_test has the rest. Where the
// kernel has no SCTP (and in CI's host), the userland one is tested; the laboratory's guest runs
// all.
#include <gtest/gtest.h>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/connector.hpp"
#include "simco/net/error.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/sctp/kernel.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/sctp_stacks.hpp"

namespace simco::net {
namespace {

using boost::system::error_code;
using test::RecordingHandler;
using namespace std::chrono_literals;

class SctpChannelTest : public testing::TestWithParam<test::SctpStacks> {
 protected:
  ~SctpChannelTest() override {
    for (auto* channel : {accepted_.get(), connected_.get()}) {
      if (channel != nullptr) channel->detach();
    }
    accepted_.reset();
    connected_.reset();
    loop_.watch(20ms);
    listening_.listeners.clear();
  }

  void listen() {
    ListenOptions options;
    options.transports = {Transport::kSctp};
    options.port = 0;
    options.settings.sctp = server_;
    listening_ = net::listen(
        loop_.io().get_executor(), options, read_buffer_,
        [this](std::shared_ptr<MessageChannel> channel) { accepted_ = std::move(channel); },
        [](const error_code& error) { ADD_FAILURE() << error.message(); });
    port_ = listening_.listeners.front()->port();
  }
  /// The error of the attempt.
  error_code connect(std::chrono::milliseconds timeout = test::kPatience) {
    std::optional<error_code> result;
    net::connect(loop_.io().get_executor(), {Transport::kSctp, {client_}, {}},
                 HostPort{"127.0.0.1", port_}, timeout, read_buffer_,
                 [&](const error_code& error, std::shared_ptr<MessageChannel> channel) {
                   connected_ = std::move(channel);
                   result = error;
                 });
    EXPECT_TRUE(loop_.run_until([&] { return result.has_value(); }));
    return result.value_or(boost::asio::error::timed_out);
  }
  bool open() {
    listen();
    const auto error = connect();
    EXPECT_FALSE(error) << error.message();
    if (error || !loop_.run_until([&] { return accepted_ != nullptr; })) return false;
    accepted_->start(theirs_, {kMessageFramer});
    connected_->start(ours_, {kMessageFramer});
    return true;
  }
  /// Sends `octets` as a user message, whatever they are.
  bool send_octets(MessageChannel& from, std::span<const std::byte> octets,
                   Delivery delivery = {}) {
    const auto room = from.allocate(octets.size(), delivery);
    std::ranges::copy(octets, room.begin());
    return !room.empty();
  }
  test::Octets message(std::uint32_t tid, std::size_t size) {
    test::Octets octets(size, std::byte{0x5A});
    ByteWriter out(octets);
    out.u8(1);
    out.u8(0x15);
    out.u16(static_cast<std::uint16_t>(size - kHeaderSize));
    out.u32(tid);
    return octets;
  }

  test::Loop loop_;
  ReadBuffer read_buffer_{};
  SctpOptions server_ = test::middlebox_options(GetParam().middlebox);
  SctpOptions client_ = test::agent_options(GetParam(), server_);
  Listening listening_;
  std::uint16_t port_ = 0;
  RecordingHandler ours_;
  RecordingHandler theirs_;
  std::shared_ptr<MessageChannel> connected_;
  std::shared_ptr<MessageChannel> accepted_;
};

TEST_P(SctpChannelTest, AMessageMayBeUnordered) {
  ASSERT_TRUE(open());
  for (const bool unordered : {false, true}) {
    ASSERT_TRUE(send_octets(*connected_, message(unordered, 64), {StreamId{5}, unordered}));
  }
  connected_->flush();
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.messages.size() == 2; }));
  for (const auto& delivery : theirs_.deliveries) EXPECT_EQ(delivery.stream, StreamId{5});
  EXPECT_EQ(std::ranges::count(theirs_.deliveries, true, &Delivery::unordered), 1);
}

TEST_P(SctpChannelTest, TheSmallerNumberOfStreamsCounts) {
  client_.streams = 64;
  server_.streams = 5;
  ASSERT_TRUE(open());
  EXPECT_EQ(connected_->outbound_streams(), 5);
  EXPECT_EQ(connected_->inbound_streams(), 5);
  EXPECT_EQ(accepted_->outbound_streams(), 5);
  EXPECT_EQ(accepted_->inbound_streams(), 5);
}

// doc/rfc4540.md, reading 2: a user message is one message, no more and no less.
TEST_P(SctpChannelTest, UserMessagesThatAreNoMessageAreMalformed) {
  const struct {
    test::Octets octets;
    FramingError error;
  } cases[] = {
      {test::from_hex("01 22 00"), FramingError::kTruncated},
      {test::from_hex("01 22 0004 00000001"), FramingError::kTruncated},
      {test::from_hex("01 22 0000 00000001 00"), FramingError::kTrailingOctets},
      {test::from_hex("01 22 0002 00000001 0000"), FramingError::kImpossibleLength},
      {test::Octets(70'000, std::byte{1}), FramingError::kImpossibleLength},
      {test::Octets(300'000, std::byte{1}), FramingError::kImpossibleLength},
  };
  client_.buffer = 1024 * 1024;
  listen();
  for (const auto& one : cases) {
    accepted_.reset();
    ASSERT_FALSE(connect());
    ASSERT_TRUE(loop_.run_until([&] { return accepted_ != nullptr; }));
    RecordingHandler theirs;
    RecordingHandler ours;
    accepted_->start(theirs, {kMessageFramer});
    connected_->start(ours, {kMessageFramer});
    ASSERT_TRUE(send_octets(*connected_, one.octets));
    send_octets(*connected_, message(1, 8));
    connected_->flush();
    EXPECT_TRUE(loop_.run_until([&] { return theirs.malformed.has_value(); }));
    loop_.watch(20ms);
    EXPECT_EQ(theirs.malformed, one.error);
    EXPECT_TRUE(theirs.messages.empty());
    accepted_->detach();
    connected_->detach();
  }
}

TEST_P(SctpChannelTest, AnAbortIsToldFromAnOrderlyEnd) {
  ASSERT_TRUE(open());
  connected_->detach();
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.closed == 1; }));
  EXPECT_EQ(theirs_.reason, error_code(NetError::kAssociationAborted)) << theirs_.reason.message();
}

TEST_P(SctpChannelTest, NobodyListensThere) {
  listen();
  port_ = static_cast<std::uint16_t>(port_ == 65'535 ? 1024 : port_ + 1);
  EXPECT_EQ(connect(), boost::asio::error::connection_refused);
}

TEST_P(SctpChannelTest, AStoppedListenerAcceptsNothingMoreAndKeepsWhatItHas) {
  ASSERT_TRUE(open());
  listening_.listeners.front()->stop();
  const auto first = std::exchange(connected_, nullptr);
  EXPECT_TRUE(connect(1s));
  connected_ = first;
  ASSERT_TRUE(send(*connected_, {1}, PrlRequest{}));
  connected_->flush();
  EXPECT_TRUE(loop_.run_until([&] { return theirs_.messages.size() == 1; }));
}

TEST_P(SctpChannelTest, TellsTheStacksFigures) {
  ASSERT_TRUE(open());
  send(*connected_, {1}, PrlRequest{});
  connected_->flush();
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.messages.size() == 1; }));
  std::map<std::string, double> figures;
  for (const auto& figure : connected_->statistics()) figures[figure.name] = figure.value;
  EXPECT_GE(figures["rto_ms"], static_cast<double>(SctpOptions{}.rto_min.count()));
  EXPECT_LE(figures["rto_ms"], static_cast<double>(SctpOptions{}.rto_max.count()));
  EXPECT_GE(figures["cwnd_octets"], 1200);
  EXPECT_TRUE(figures.contains("retransmitted_chunks"));
}

TEST_P(SctpChannelTest, AnEndedAssociationHasItsFigures) {
  listen();
  for (const auto end : {&MessageChannel::close, &MessageChannel::detach}) {
    accepted_.reset();
    ASSERT_FALSE(connect());
    ASSERT_TRUE(loop_.run_until([&] { return accepted_ != nullptr; }));
    RecordingHandler theirs;
    RecordingHandler ours;
    accepted_->start(theirs, {kMessageFramer});
    connected_->start(ours, {kMessageFramer});
    send(*connected_, {1}, PrlRequest{});
    connected_->flush();
    ASSERT_TRUE(loop_.run_until([&] { return theirs.messages.size() == 1; }));
    (*connected_.*end)();
    ASSERT_TRUE(loop_.run_until([&] { return theirs.closed == 1; }));
    loop_.watch();  // until the stack has forgotten it, too
    std::map<std::string, double> figures;
    for (const auto& figure : accepted_->statistics()) figures[figure.name] = figure.value;
    EXPECT_GE(figures["rto_ms"], static_cast<double>(SctpOptions{}.rto_min.count()));
    EXPECT_TRUE(figures.contains("retransmitted_chunks"));
    accepted_->detach();
    connected_->detach();
  }
}

INSTANTIATE_TEST_SUITE_P(Userland, SctpChannelTest, test::userland_stacks(), test::name_of_stacks);
INSTANTIATE_TEST_SUITE_P(Kernel, SctpChannelTest, test::kernel_stacks(), test::name_of_stacks);

}  // namespace
}  // namespace simco::net
