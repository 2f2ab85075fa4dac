// Channels over UDP: one for each peer, datagrams that are whole messages or nothing.
#include <gtest/gtest.h>

#include <boost/asio/ip/udp.hpp>
#include <set>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/connector.hpp"
#include "simco/net/datagram_port.hpp"
#include "simco/net/error.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/transport_type.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"

namespace simco::net {
namespace {

using boost::asio::ip::address_v4;
using Endpoint = boost::asio::ip::udp::endpoint;
using UdpSocket = boost::asio::ip::udp::socket;
using boost::system::error_code;

double figure_named(const MessageChannel& channel, std::string_view name) {
  for (const auto& figure : channel.statistics()) {
    if (figure.name == name) return figure.value;
  }
  return -1;
}

class UdpChannelTest : public testing::Test {
 protected:
  UdpChannelTest() {
    ListenOptions options;
    options.transports = {Transport::kUdp};
    options.port = 0;
    listening_ = net::listen(
        loop_.io().get_executor(), options, read_buffer_,
        [this](std::shared_ptr<MessageChannel> channel) { accept(std::move(channel)); },
        [](const error_code& error) { ADD_FAILURE() << error.message(); });
    port_ = listening_.listeners.front()->port();
  }
  ~UdpChannelTest() override {
    for (const auto& [channel, handler] : peers_) channel->detach();
    peers_.clear();
    loop_.watch(std::chrono::milliseconds(5));
    listening_.listeners.clear();
  }

  void accept(std::shared_ptr<MessageChannel> channel) {
    auto handler = std::make_unique<test::RecordingHandler>();
    channel->start(*handler, {kMessageFramer});
    peers_.emplace_back(std::move(channel), std::move(handler));
  }
  std::shared_ptr<MessageChannel> connect(std::uint16_t port, test::RecordingHandler& handler) {
    std::shared_ptr<MessageChannel> result;
    net::connect(loop_.io().get_executor(), {Transport::kUdp, {}, {}}, HostPort{"127.0.0.1", port},
                 test::kPatience, read_buffer_,
                 [&](const error_code& error, std::shared_ptr<MessageChannel> channel) {
                   EXPECT_FALSE(error) << error.message();
                   result = std::move(channel);
                 });
    EXPECT_TRUE(loop_.run_until([&] { return result != nullptr; }));
    result->start(handler, {kMessageFramer});
    return result;
  }
  void send_octets(UdpSocket& socket, std::size_t size, std::byte octet = std::byte{1}) {
    const test::Octets octets(size, octet);
    socket.send_to(boost::asio::buffer(octets), {address_v4::loopback(), port_});
  }

  test::Loop loop_;
  ReadBuffer read_buffer_{};
  Listening listening_;
  std::uint16_t port_ = 0;
  std::vector<std::pair<std::shared_ptr<MessageChannel>, std::unique_ptr<test::RecordingHandler>>>
      peers_;
};

TEST_F(UdpChannelTest, EachPeerHasItsChannelAndGetsItsReplies) {
  test::RecordingHandler first;
  test::RecordingHandler second;
  const auto one = connect(port_, first);
  const auto two = connect(port_, second);
  ASSERT_TRUE(send(*one, {1}, PrlRequest{}));
  ASSERT_TRUE(send(*one, {2}, PrlRequest{}));
  EXPECT_EQ(one->queued(), 2 * kHeaderSize);
  one->flush();
  EXPECT_EQ(one->queued(), 0U);
  ASSERT_TRUE(loop_.run_until(
      [&] { return peers_.size() == 1 && peers_[0].second->messages.size() == 2; }));
  ASSERT_TRUE(send(*two, {3}, PrlRequest{}));
  two->flush();
  ASSERT_TRUE(loop_.run_until(
      [&] { return peers_.size() == 2 && peers_[1].second->messages.size() == 1; }));
  EXPECT_GT(peers_[0].second->reads, 0);
  EXPECT_EQ(peers_[0].first->peer_address(), "127.0.0.1");
  EXPECT_NE(peers_[0].first->peer_endpoint(), peers_[1].first->peer_endpoint());
  ASSERT_TRUE(send(*peers_[1].first, {4}, PrlRequest{}));
  peers_[1].first->flush();
  ASSERT_TRUE(loop_.run_until([&] { return second.messages.size() == 1; }));
  EXPECT_TRUE(first.messages.empty());
  one->detach();
  two->close();
  EXPECT_TRUE(loop_.run_until([&] { return second.closed == 1; }));
  EXPECT_FALSE(second.reason);
  EXPECT_TRUE(two->allocate(8, {}).empty());
}

TEST_F(UdpChannelTest, WhatCannotBeUsedIsDroppedAndCounted) {
  UdpSocket socket(loop_.io(), {address_v4::loopback(), 0});
  send_octets(socket, 3);
  send_octets(socket, 2000, std::byte{0xFF});
  const auto good = test::encoded({{7}, PrlRequest{}});
  auto twice = good;
  twice.insert(twice.end(), good.begin(), good.end());
  const Endpoint to(address_v4::loopback(), port_);
  socket.send_to(boost::asio::buffer(twice), to);
  socket.send_to(boost::asio::buffer(good), to);
  ASSERT_TRUE(loop_.run_until(
      [&] { return peers_.size() == 1 && peers_[0].second->messages.size() == 1; }));
  EXPECT_EQ(peers_[0].second->messages[0], good);
  EXPECT_EQ(peers_[0].second->malformed, std::nullopt);
  EXPECT_EQ(figure_named(*peers_[0].first, "malformed_datagrams"), 3);
  EXPECT_EQ(figure_named(*peers_[0].first, "received_datagrams"), 4);
}

TEST_F(UdpChannelTest, WhatArrivesWhileInputIsPausedIsLost) {
  test::RecordingHandler ours;
  const auto channel = connect(port_, ours);
  const auto say = [&](std::uint32_t tid) {
    EXPECT_TRUE(send(*channel, {tid}, PrlRequest{}));
    channel->flush();
  };
  say(1);
  ASSERT_TRUE(loop_.run_until(
      [&] { return peers_.size() == 1 && peers_[0].second->messages.size() == 1; }));
  peers_[0].first->pause_input();
  say(2);
  ASSERT_TRUE(
      loop_.run_until([&] { return figure_named(*peers_[0].first, "unwanted_datagrams") == 1; }));
  peers_[0].first->resume_input();
  say(3);
  ASSERT_TRUE(loop_.run_until([&] { return peers_[0].second->messages.size() == 2; }));
  channel->detach();
}

TEST_F(UdpChannelTest, AClosedPortEndsTheChannel) {
  std::uint16_t closed = 0;
  {
    UdpSocket socket(loop_.io(), {address_v4::loopback(), 0});
    closed = socket.local_endpoint().port();
  }
  test::RecordingHandler ours;
  const auto channel = connect(closed, ours);
  EXPECT_EQ(ours.closed, 0);  // nothing has been sent
  ASSERT_TRUE(send(*channel, {1}, PrlRequest{}));
  channel->flush();
  ASSERT_TRUE(loop_.run_until([&] { return ours.closed == 1; }));
  EXPECT_EQ(ours.reason, boost::asio::error::connection_refused);
  channel->detach();
}

TEST_F(UdpChannelTest, AFloodOfPeersTakesNoMoreThanItsRoom) {
  test::RecordingHandler ours;
  const auto channel = connect(port_, ours);
  ASSERT_TRUE(send(*channel, {1}, PrlRequest{}));
  channel->flush();
  ASSERT_TRUE(loop_.run_until([&] { return peers_.size() == 1; }));
  const auto crowded_out = [&] {
    std::size_t count = 0;
    for (const auto& [peer, handler] : peers_) {
      if (handler->closed == 0) continue;
      EXPECT_EQ(handler->reason, NetError::kCrowdedOut);
      ++count;
    }
    return count;
  };
  // Each from another port.
  std::set<std::uint16_t> ports;
  std::size_t next = 2;
  while (peers_.size() < kUdpPeersMax + 10) {
    UdpSocket socket(loop_.io(), {address_v4::loopback(), 0});
    if (!ports.insert(socket.local_endpoint().port()).second) continue;
    send_octets(socket, 8);
    ASSERT_TRUE(loop_.run_until([&] { return peers_.size() == next; })) << next;
    ++next;
  }
  EXPECT_EQ(crowded_out(), peers_.size() - kUdpPeersMax);
  EXPECT_EQ(peers_[0].second->closed, 1) << "the oldest of the source with the most";
  channel->detach();
}

TEST_F(UdpChannelTest, AStoppedListenerHearsNoFurtherPeers) {
  test::RecordingHandler ours;
  const auto channel = connect(port_, ours);
  ASSERT_TRUE(send(*channel, {1}, PrlRequest{}));
  channel->flush();
  ASSERT_TRUE(loop_.run_until([&] { return peers_.size() == 1; }));
  listening_.listeners.front()->stop();
  UdpSocket stranger(loop_.io(), {address_v4::loopback(), 0});
  send_octets(stranger, 8);
  ASSERT_TRUE(send(*channel, {2}, PrlRequest{}));
  channel->flush();
  ASSERT_TRUE(loop_.run_until([&] { return peers_[0].second->messages.size() == 2; }));
  EXPECT_EQ(peers_.size(), 1U);
  channel->detach();
}

/// Reads nothing.
struct DeafUser : DatagramPort::User {
  void on_packet(DatagramPort&, const Path&, std::span<const std::byte>) override {}
  void on_unreachable(DatagramPort&, const Path&) override {}
  void on_batch_done() override {}
};

// The ICMP error of a packet is told to the sender of the next packet, to any peer.
TEST_F(UdpChannelTest, AnErrorOfOnePacketDoesNotCostTheNextOne) {
  std::uint16_t closed = 0;
  {
    UdpSocket socket(loop_.io(), {address_v4::loopback(), 0});
    closed = socket.local_endpoint().port();
  }
  DeafUser user;
  DatagramBatch batch;
  const auto port = std::make_shared<DatagramPort>(
      loop_.io().get_executor(), batch,
      DatagramPort::Options{.local = address_v4::loopback(), .ask_for_errors = true}, user);
  const auto good = test::encoded({{7}, PrlRequest{}});
  port->send({address_v4::loopback(), closed, {}}, good);
  port->flush();
  port->send({address_v4::loopback(), port_, {}}, good);
  port->flush();
  EXPECT_EQ(port->queued(), 0U);
  EXPECT_TRUE(loop_.run_until(
      [&] { return peers_.size() == 1 && peers_[0].second->messages.size() == 1; }));
  port->stop();
}

// SIMCO does not go over it: only a caller with lower requirements finds it.
TEST(UdpTransport, IsNotForThoseWhoNeedEveryMessage) {
  EXPECT_EQ(find_transport("udp"), std::nullopt);
  EXPECT_EQ(find_transport("udp", Need::kAny), Transport::kUdp);
  EXPECT_EQ(transport_names(), (std::vector<std::string>{"tcp", "sctp", "quic"}));
  EXPECT_EQ(transport_names(Need::kAny), (std::vector<std::string>{"tcp", "sctp", "quic", "udp"}));
  EXPECT_EQ(transport_names(" or "), "tcp or sctp or quic");
}

}  // namespace
}  // namespace simco::net
