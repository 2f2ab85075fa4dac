// Peers that mean ill, with packets of their own making, against a listener over the loopback
// interface.
#include <gtest/gtest.h>

#include <boost/asio/ip/udp.hpp>
#include <random>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/error.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/quic/channel.hpp"
#include "simco/net/quic/connection.hpp"
#include "simco/net/quic/limits.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/connected.hpp"
#include "tests/support/loop.hpp"

namespace simco::net::quic {
namespace {

using boost::system::error_code;
using Udp = boost::asio::ip::udp;
using test::Octets;

/// An agent that sends its packets when it likes.
class Caller final : public Connection::User {
 public:
  Caller(std::shared_ptr<const Credentials> credentials, const Udp::endpoint& to, Time now) {
    const Connection::Call call{"127.0.0.1"};
    const Connection::Way way{{boost::asio::ip::address_v4::loopback(), 1}, to};
    Connection::User& user = *this;
    connection_.emplace(user, std::move(credentials), QuicOptions{}, way, &call, nullptr, now);
    connection_->write(now);
  }
  const Octets& first_packet() const { return packets_.front(); }

 private:
  void on_id(const ConnectionId&) override {}
  void on_id_retired(const ConnectionId&) override {}
  ResetToken reset_token(const ConnectionId&) override { return {}; }
  void on_input(StreamNumber, std::span<const std::byte>, bool) override {}
  void on_output(const Connection::Way&, std::span<const std::byte> packet) override {
    packets_.emplace_back(packet.begin(), packet.end());
  }

  std::vector<Octets> packets_;
  std::optional<Connection> connection_;
};

class QuicHostileTest : public testing::Test {
 protected:
  QuicHostileTest() {
    static const test::Authority authority;
    static const auto box = authority.issue("middlebox", "IP:127.0.0.1");
    static const auto agent = authority.issue("agent");
    agent_.transport = Transport::kQuic;
    agent_.tls = test::load_tls(TlsSide::kAgent, agent);
    listen_.transports = {Transport::kQuic};
    listen_.port = 0;
    listen_.handshakes_max = 40;
    listen_.tls = test::load_tls(TlsSide::kMiddlebox, box);
    listen_.on_refused = [this](const std::string&, const error_code& why) {
      refused_.push_back(why);
    };
    listening_ = net::listen(
        loop_.io().get_executor(), listen_, read_buffer_,
        [this](std::shared_ptr<MessageChannel> channel) {
          channel->start(theirs_, {kMessageFramer});
          accepted_.push_back(std::move(channel));
        },
        [](const error_code& error) { ADD_FAILURE() << error.message(); });
    server_ = {boost::asio::ip::address_v4::loopback(), listening_.listeners.front()->port()};
    socket_.non_blocking(true);
  }
  ~QuicHostileTest() override {
    for (auto& channel : accepted_) channel->detach();
    if (connected_) connected_->detach();
    accepted_.clear();
    connected_.reset();
    loop_.watch(std::chrono::milliseconds(20));
    listening_.listeners.clear();
  }

  void send(const Octets& packet) {
    error_code ignored;
    socket_.send_to(boost::asio::buffer(packet), server_, 0, ignored);
  }
  /// What the listener has answered since the last call.
  std::vector<Octets> answers() {
    std::vector<Octets> result;
    loop_.watch(std::chrono::milliseconds(1));
    for (Octets packet(2000);; packet.resize(2000)) {
      error_code error;
      Udp::endpoint from;
      const auto size = socket_.receive_from(boost::asio::buffer(packet), from, 0, error);
      if (error) return result;
      packet.resize(size);
      result.push_back(packet);
    }
  }
  /// RFC 9000 17.2.5: a long header of type 3.
  static bool is_retry(const Octets& packet) {
    return (packet[0] & std::byte{0xF0}) == std::byte{0xF0};
  }
  error_code connect() {
    return test::connect(loop_, read_buffer_, agent_, server_.port(), ours_, connected_);
  }

  test::Loop loop_;
  ReadBuffer read_buffer_{};
  ListenOptions listen_;
  TransportOptions agent_;
  Listening listening_;
  Udp::endpoint server_;
  Udp::socket socket_{loop_.io(), Udp::endpoint(boost::asio::ip::address_v4::loopback(), 0)};
  test::RecordingHandler ours_;
  test::RecordingHandler theirs_;
  std::vector<std::shared_ptr<MessageChannel>> accepted_;
  std::shared_ptr<MessageChannel> connected_;
  std::vector<error_code> refused_;
};

TEST_F(QuicHostileTest, InAFloodOfHandshakesNewcomersMustShowWhereTheyAre) {
  const auto retry_from = listen_.handshakes_max / kRetryFromPart;
  const auto credentials = *agent_.tls->quic();
  bool retry = false;
  // A handshake that is lost on the way to the listener does not count, so go on until it does.
  for (std::size_t i = 0; i < 20 * retry_from && !retry; ++i) {
    send(Caller(credentials, server_, std::chrono::seconds(1)).first_packet());
    for (const auto& answer : answers()) {
      retry = retry || is_retry(answer);
      if (is_retry(answer)) {
        EXPECT_GE(i, retry_from);
      }
    }
  }
  EXPECT_TRUE(retry);
  // Nobody else is kept out: an agent takes the detour.
  const auto error = connect();
  EXPECT_FALSE(error) << error.message();
  ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() == 1; }));
  EXPECT_TRUE(refused_.empty());
}

TEST_F(QuicHostileTest, GarbageLeavesNothingBehind) {
  std::mt19937 random(5);
  const auto credentials = *agent_.tls->quic();
  const auto first = Caller(credentials, server_, std::chrono::seconds(1)).first_packet();
  for (int i = 0; i < 2000; ++i) {
    auto packet = first;
    // With an identifier of its own each, and damaged where it is sealed.
    for (std::size_t at = 6; at < 14; ++at) packet[at] = std::byte(random());
    if (i % 2 == 0) packet[100 + random() % 1000] ^= std::byte{1};
    if (i % 3 == 0) packet.resize(random() % packet.size());
    if (i % 5 == 0) {
      for (auto& octet : packet) octet = std::byte(random());
    }
    send(packet);
    static_cast<void>(answers());
  }
  EXPECT_TRUE(accepted_.empty());
  const auto error = connect();
  EXPECT_FALSE(error) << error.message();
}

TEST_F(QuicHostileTest, APeerThatDoesNotReadIsHeldUp) {
  ASSERT_FALSE(connect());
  ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() == 1; }));
  connected_->pause_input();
  auto& channel = *accepted_.front();
  const Body list = PrlReply{std::vector<PolicyRuleId>(kRuleListMax, PolicyRuleId{7})};
  std::uint32_t taken = 0;
  while (simco::send(channel, {taken}, list)) {
    ++taken;
    channel.flush();
    loop_.watch(std::chrono::milliseconds(1));
    ASSERT_LT(taken, 1000U);
  }
  EXPECT_GT(channel.queued() + kMessageSizeMax, kOutputQueueMax);
  EXPECT_TRUE(ours_.messages.empty());
  connected_->resume_input();
  ASSERT_TRUE(loop_.run_until([&] { return ours_.messages.size() == taken; }));
  EXPECT_EQ(channel.queued(), 0U);
}

// Its user waits for room in the output queue before it reads on, and there will be none.
TEST_F(QuicHostileTest, APeerThatGoesWithoutReadingHoldsNothingUp) {
  ASSERT_FALSE(connect());
  ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() == 1; }));
  auto& channel = *accepted_.front();
  channel.pause_input();
  connected_->pause_input();
  ASSERT_TRUE(simco::send(*connected_, {1}, StRequest{}));
  connected_->flush();
  const Body list = PrlReply{std::vector<PolicyRuleId>(kRuleListMax, PolicyRuleId{7})};
  for (std::uint32_t tid = 0; channel.queued() == 0; ++tid) {
    ASSERT_TRUE(simco::send(channel, {tid}, list));
    channel.flush();
    loop_.watch(std::chrono::milliseconds(1));
  }
  const int drained = theirs_.drained;
  static_cast<Channel&>(*connected_).ended({});
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.drained > drained; }));
  EXPECT_EQ(channel.queued(), 0U);
  channel.resume_input();
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.closed == 1; }));
  EXPECT_EQ(theirs_.messages.size(), 1U);
}

TEST_F(QuicHostileTest, UnfinishedMessagesOnAllStreamsHoldNothingUp) {
  ASSERT_FALSE(connect());
  ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() == 1; }));
  const auto part = test::from_hex("01 11 0028 00000001");
  for (std::uint16_t stream = 0; stream < 16; ++stream) {
    const auto room = connected_->allocate(part.size(), {StreamId{stream}});
    std::ranges::copy(part, room.begin());
  }
  connected_->flush();
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.mid_message; }));
  EXPECT_TRUE(theirs_.messages.empty());
  EXPECT_FALSE(theirs_.malformed);
  accepted_.front()->close();
  ASSERT_TRUE(loop_.run_until([&] { return ours_.closed == 1; }));
  EXPECT_FALSE(ours_.reason) << ours_.reason.message();
}

}  // namespace
}  // namespace simco::net::quic
