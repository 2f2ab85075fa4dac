// Peers that mean ill, with packets of their own making, against a listener over the loopback
// interface.
#include <gnutls/gnutls.h>
#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/udp.hpp>
#include <cstdlib>
#include <random>
#include <set>

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
#include "tests/unit/net/quic_forger.hpp"

namespace simco::net::quic {
namespace {

using boost::system::error_code;
using Udp = boost::asio::ip::udp;
using test::Octets;

/// An agent that sends its packets when it likes.
class Caller final : public Connection::User {
 public:
  Caller(std::shared_ptr<const Credentials> credentials, const Udp::endpoint& to, Time now)
      : way_{{boost::asio::ip::address_v4::loopback(), 1}, to}, now_(now) {
    const Connection::Call call{"127.0.0.1"};
    Connection::User& user = *this;
    connection_.emplace(user, std::move(credentials), QuicOptions{}, way_, &call, nullptr, now);
    connection_->write(now);
  }
  const Octets& first_packet() const { return packets_.front(); }
  /// Its answer to `packet`.
  std::vector<Octets> answer(const Octets& packet) {
    packets_.clear();
    connection_->receive(way_, packet, now_);
    connection_->write(now_);
    return packets_;
  }

 private:
  void on_id(const ConnectionId&) override {}
  void on_id_retired(const ConnectionId&) override {}
  ResetToken reset_token(const ConnectionId&) override { return {}; }
  void on_input(StreamNumber, std::span<const std::byte>, bool) override {}
  void on_output(const Connection::Way&, std::span<const std::byte> packet) override {
    packets_.emplace_back(packet.begin(), packet.end());
  }

  Connection::Way way_;
  Time now_;
  std::vector<Octets> packets_;
  std::optional<Connection> connection_;
};

/// Makes a CRYPTO frame at the beginning of `frames` one that begins an octet later.
void shift_crypto(std::span<std::uint8_t> frames) {
  constexpr std::uint8_t kCrypto = 6;
  if (frames[0] == kCrypto && frames[1] == 0) frames[1] = 1;
}

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
    listen_.on_refused = [this](const std::string& who, const error_code& why) {
      names_.insert(who);
      refused_.push_back(why);
    };
    listen();
  }
  void listen() {
    listening_ = {};
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

  void send(const Octets& packet) { send(socket_, packet); }
  void send(Udp::socket& socket, const Octets& packet) {
    error_code ignored;
    socket.send_to(boost::asio::buffer(packet), server_, 0, ignored);
  }
  /// The listener's answers since the last call.
  std::vector<Octets> answers() { return answers(socket_); }
  std::vector<Octets> answers(Udp::socket& socket) {
    std::vector<Octets> result;
    loop_.watch(std::chrono::milliseconds(1));
    for (Octets packet(2000);; packet.resize(2000)) {
      error_code error;
      Udp::endpoint from;
      const auto size = socket.receive_from(boost::asio::buffer(packet), from, 0, error);
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
  std::set<std::string> names_;  ///< of those refused
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

// They have proven their addresses, and then say nothing more.
TEST_F(QuicHostileTest, HandshakesThatStallMakeRoomForNewcomers) {
  struct Peer {
    Caller caller;
    Udp::socket socket;
  };
  const auto count = 2 * listen_.handshakes_max;
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<Octets> second;
  for (std::size_t i = 0; i < count; ++i) {
    auto& peer = peers.emplace_back(
        new Peer{{*agent_.tls->quic(), server_, std::chrono::seconds(1)},
                 {loop_.io(), Udp::endpoint(boost::asio::ip::address_v4::loopback(), 0)}});
    peer->socket.non_blocking(true);
    ASSERT_TRUE(loop_.run_until([&] {
      send(peer->socket, peer->caller.first_packet());
      for (const auto& packet : answers(peer->socket)) {
        second.push_back(is_retry(packet) ? peer->caller.answer(packet).front() : Octets{});
        return true;
      }
      return false;
    }));
  }
  // All of them in one turn of the loop: some go while their packets are being handed out.
  for (std::size_t i = 0; i < count; ++i) {
    if (!second[i].empty()) send(peers[i]->socket, second[i]);
  }
  ASSERT_TRUE(loop_.run_until([&] {
    return std::ranges::count(refused_, error_code(NetError::kCrowdedOut)) != 0 ||
           refused_.size() >= count;
  }));
  EXPECT_TRUE(names_.contains("127.0.0.1")) << "whose address is proven";
  const auto error = connect();
  EXPECT_FALSE(error) << error.message();
  EXPECT_LE(accepted_.size(), 1U);
}

TEST_F(QuicHostileTest, AHandshakeThatStallsEndsAndItsAddressIsDoubted) {
  const auto credentials = *agent_.tls->quic();
  ASSERT_TRUE(loop_.run_until([&] {
    send(Caller(credentials, server_, std::chrono::seconds(1)).first_packet());
    return !answers().empty();
  }));
  ASSERT_TRUE(loop_.run_until([&] { return !refused_.empty(); }));
  EXPECT_EQ(refused_.front(), boost::asio::error::timed_out);
  EXPECT_EQ(names_, std::set<std::string>{"127.0.0.1 (address not verified)"});
}

// Its request must be repeated with a proof of the address, not just forgotten.
TEST_F(QuicHostileTest, AFirstWordInPiecesIsAskedForAgain) {
  const auto credentials = *agent_.tls->quic();
  ASSERT_TRUE(loop_.run_until([&] {
    {
      // A CRYPTO frame that begins behind the beginning (RFC 9000 19.6).
      const Forger forger([](auto frames) { shift_crypto(frames); });
      send(Caller(credentials, server_, std::chrono::seconds(1)).first_packet());
    }
    const auto got = answers();
    return !got.empty() && is_retry(got.front());
  }));
  EXPECT_TRUE(refused_.empty());
}

int sessions_without_memory = 0;
void* calloc_or_not(std::size_t count, std::size_t size) {
  return sessions_without_memory != 0 && sessions_without_memory-- != 0 ? nullptr
                                                                        : std::calloc(count, size);
}

// The first thing that a connection needs, at either end.
TEST_F(QuicHostileTest, WithoutMemoryAConnectionFailsAndNothingElse) {
  const auto before = std::exchange(gnutls_calloc, calloc_or_not);
  const Caller caller(*agent_.tls->quic(), server_, std::chrono::seconds(1));
  sessions_without_memory = 1;
  ASSERT_TRUE(loop_.run_until([&] {
    send(caller.first_packet());
    loop_.watch(std::chrono::milliseconds(1));
    return sessions_without_memory == 0;
  }));
  EXPECT_FALSE(connect());
  ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() == 1; }));
  connected_->detach();
  sessions_without_memory = 1;
  EXPECT_EQ(connect(), boost::system::errc::not_enough_memory);
  // An agent goes on with the next address, from inside the failure of the last one.
  sessions_without_memory = 1;
  bool answered = false;
  HostPort target("127.0.0.1", server_.port());
  target.further_hosts = {"127.0.0.1"};
  net::connect(loop_.io().get_executor(), agent_, target, test::kPatience, read_buffer_,
               [&](const error_code& error, auto channel) {
                 EXPECT_FALSE(error) << error.message();
                 if (channel) channel->detach();
                 answered = true;
               });
  EXPECT_TRUE(loop_.run_until([&] { return answered; }));
  gnutls_calloc = before;
}

constexpr std::byte kStopSending{0x05};  // RFC 9000 19.5

// Frames of a peer that has a connection and keys.
TEST_F(QuicHostileTest, WhoBreaksTheRulesLosesItsConnectionOnly) {
  listen_.settings.quic.streams = 2;
  listen();
  server_ = {server_.address(), listening_.listeners.front()->port()};
  const std::pair<const char*, const char*> cases[] = {
      {"a stream over the limit", "0a 0a 01 00"},
      {"a stream of both directions", "0a 00 01 00"},
      {"data on a stream of ours", "0a 03 01 00"},
      {"data beyond the window of the stream", "0e 02 80100000 01 00"},
      {"a stream that is given up", "04 02 00 00"},
      {"a stream of ours that nobody reads", "05 03 00"},
      {"an unknown frame", "3f"},
      {"a datagram", "31 01 00"},
      {"a token", "07 01 00"},
      {"the middlebox's word that the handshake is over", "1e"},
      {"an acknowledgement of what was never sent", "02 80ffffff 00 00 00"},
      {"an identifier that was never given", "19 3f"},
      {"an identifier without octets", "18 05 00 00"},
      {"a window for a stream that is not ours", "11 06 01"},
  };
  for (const auto& [what, hex] : cases) {
    accepted_.clear();
    theirs_.closed = 0;
    ASSERT_FALSE(connect()) << what;
    ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() == 1; })) << what;
    const auto frame = test::from_hex(hex);
    {
      const Forger forger([&](std::span<std::uint8_t> frames) {
        if (frames.size() < frame.size()) return;
        std::ranges::fill(frames, 0);
        std::ranges::transform(frame, frames.begin(), [](std::byte octet) {
          return std::to_integer<std::uint8_t>(octet);
        });
      });
      ASSERT_TRUE(simco::send(*connected_, {0}, PrlReply{std::vector<PolicyRuleId>(50)}));
      connected_->flush();
    }
    ASSERT_TRUE(loop_.run_until([&] { return theirs_.closed == 1; })) << what;
    EXPECT_TRUE(theirs_.reason) << what;
    // ngtcp2 answers STOP_SENDING by itself with RESET_STREAM, and the agent's answer to that ends
    // the connection. If the agent takes its packet for lost before that, it sends the message
    // again, and then it is not forged.
    const bool at_once = frame.front() != kStopSending;
    if (at_once) {
      EXPECT_TRUE(theirs_.messages.empty()) << what;
    }
    theirs_.messages.clear();
  }
  EXPECT_FALSE(connect());
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

}  // namespace
}  // namespace simco::net::quic
