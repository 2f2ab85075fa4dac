#include "simco/net/tcp_channel.hpp"

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/octets.hpp"

namespace simco::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

using test::RecordingHandler;

/// A channel under test and a plain socket at its other end.
class TcpChannelTest : public testing::Test {
 protected:
  TcpChannelTest() {
    tcp::acceptor acceptor(io_, {boost::asio::ip::address_v4::loopback(), 0});
    peer_.connect(acceptor.local_endpoint());
    channel_ = std::make_shared<TcpChannel>(acceptor.accept(), read_buffer_);
    channel_->start(handler_, {kMessageFramer});
  }
  ~TcpChannelTest() override {
    channel_->detach();
    io_.restart();
    io_.poll();
  }

  template <class Done>
  bool run_until(Done done) {
    return loop_.run_until(done);
  }
  void write(const test::Octets& octets) {
    boost::asio::write(peer_, boost::asio::buffer(octets.data(), octets.size()));
  }

  test::Loop loop_;
  boost::asio::io_context& io_ = loop_.io();
  ReadBuffer read_buffer_{};
  RecordingHandler handler_;
  tcp::socket peer_{io_};
  std::shared_ptr<TcpChannel> channel_;
};

TEST_F(TcpChannelTest, CloseDeliversWhatIsQueuedAlsoWhenInputIsUnread) {
  write(test::Octets(500'000, std::byte{1}));  // never looked at
  handler_.stop_after = 1;
  ASSERT_TRUE(send(*channel_, {1}, StReply{}));
  channel_->close();
  EXPECT_FALSE(send(*channel_, {2}, StReply{}));
  test::Octets reply(kHeaderSize);
  std::size_t got = 0;
  peer_.non_blocking(true);
  error_code error;
  ASSERT_TRUE(run_until([&] {
    got += peer_.read_some(boost::asio::buffer(reply.data() + got, reply.size() - got), error);
    return got == reply.size();
  }));
  EXPECT_EQ(decode(reply)->body, Body{StReply{}});
  test::Octets more(1);
  ASSERT_TRUE(run_until([&] {
    peer_.read_some(boost::asio::buffer(more.data(), 1), error);
    return error == boost::asio::error::eof;
  })) << error.message();
  peer_.close();
  EXPECT_TRUE(run_until([&] { return handler_.closed == 1; }));
  EXPECT_FALSE(handler_.reason);
}

TEST_F(TcpChannelTest, APeerThatNeverClosesIsResetInTheEnd) {
  channel_->close();
  EXPECT_TRUE(run_until([&] { return handler_.closed == 1; }));
}

TEST_F(TcpChannelTest, AResetWhileInputIsPausedIsNoticedWhenSending) {
  handler_.pause_after = 1;
  write(test::encoded({{1}, PrlRequest{}}));
  ASSERT_TRUE(run_until([&] { return handler_.messages.size() == 1; }));
  peer_.set_option(boost::asio::socket_base::linger(true, 0));
  peer_.close();
  EXPECT_TRUE(run_until([&] {
    send(*channel_, {1}, StReply{});
    channel_->flush();
    return handler_.closed == 1;
  }));
  EXPECT_TRUE(handler_.reason);
}

TEST_F(TcpChannelTest, TellsTheKernelsFigures) {
  const auto figures = channel_->statistics();
  ASSERT_FALSE(figures.empty());
  const auto rto = std::ranges::find(figures, "rto_ms", &TransportFigure::name);
  ASSERT_NE(rto, figures.end());
  EXPECT_GT(rto->value, 0);
  EXPECT_FALSE(rto->total);
  const auto retransmitted =
      std::ranges::find(figures, "retransmitted_segments", &TransportFigure::name);
  ASSERT_NE(retransmitted, figures.end());
  EXPECT_TRUE(retransmitted->total);
}

}  // namespace
}  // namespace simco::net
