// What only QUIC has, over the loopback interface: certificates, streams, and what happens when
// addresses change or one end knows nothing of the other. channel_test has the rest.
#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <cstdlib>
#include <filesystem>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/error.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/quic/channel.hpp"
#include "simco/net/transport_type.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/connected.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/port.hpp"
#include "tests/support/udp_relay.hpp"

namespace simco::net {
namespace {

using boost::system::error_code;
using test::RecordingHandler;

const test::Authority& authority() {
  static const test::Authority one;
  return one;
}
const TlsFiles& middlebox_files() {
  static const auto files = authority().issue("middlebox", "IP:127.0.0.1,DNS:box.example");
  return files;
}
const TlsFiles& agent_files() {
  static const auto files = authority().issue("agent", "DNS:agent,URI:sip:agent@example");
  return files;
}

/// GnuTLS looks at it once, before the first session.
const test::Folder kSecrets("quic-secrets");
const int kTold = setenv("SSLKEYLOGFILE", (kSecrets.path + "/secrets").c_str(), 1);

class QuicChannelTest : public testing::Test {
 protected:
  QuicChannelTest() {
    listen_.transports = {Transport::kQuic};
    listen_.port = 0;
    listen_.tls = test::load_tls(TlsSide::kMiddlebox, middlebox_files());
    listen_.on_refused = [this](const std::string& peer, const error_code& why) {
      EXPECT_EQ(peer, "127.0.0.1");
      refused_.push_back(why);
    };
    agent_.transport = Transport::kQuic;
    agent_.tls = test::load_tls(TlsSide::kAgent, agent_files());
  }
  ~QuicChannelTest() override {
    for (auto* channel : {&accepted_, &connected_}) drop(*channel);
    loop_.watch(std::chrono::milliseconds(20));
    listening_.listeners.clear();
  }

  static void drop(std::shared_ptr<MessageChannel>& channel) {
    if (channel) channel->detach();
    channel.reset();
  }
  void listen() {
    listening_ = net::listen(
        loop_.io().get_executor(), listen_, read_buffer_,
        [this](std::shared_ptr<MessageChannel> channel) {
          channel->start(theirs_, {kMessageFramer});
          accepted_ = std::move(channel);
        },
        [](const error_code& error) { ADD_FAILURE() << error.message(); });
    port_ = listening_.listeners.front()->port();
  }
  error_code connect(std::uint16_t port) {
    return test::connect(loop_, read_buffer_, agent_, port, ours_, connected_);
  }
  void open(std::uint16_t port) {
    const auto error = connect(port);
    ASSERT_FALSE(error) << error.message();
    ASSERT_TRUE(loop_.run_until([&] { return accepted_ != nullptr; }));
  }
  void send_requests(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_TRUE(send(*connected_, {first + i}, PrlRequest{}));
    }
    connected_->flush();
  }
  bool arrived(std::size_t count) {
    return loop_.run_until([&] { return theirs_.messages.size() >= count; });
  }

  test::Loop loop_;
  ReadBuffer read_buffer_{};
  ListenOptions listen_;
  TransportOptions agent_;
  Listening listening_;
  std::uint16_t port_ = 0;
  RecordingHandler ours_;
  RecordingHandler theirs_;
  std::shared_ptr<MessageChannel> accepted_;
  std::shared_ptr<MessageChannel> connected_;
  std::vector<error_code> refused_;
};

TEST_F(QuicChannelTest, BothEndsHaveTheSmallerNumberOfStreams) {
  listen_.settings.quic.streams = 3;
  listen();
  open(port_);
  for (const auto* channel : {accepted_.get(), connected_.get()}) {
    EXPECT_EQ(channel->outbound_streams(), 3);
    EXPECT_EQ(channel->inbound_streams(), 3);
  }
  send_requests(0, 30);
  ASSERT_TRUE(arrived(30));
  for (std::size_t i = 0; i < 30; ++i) {
    const std::span<const std::byte> octets(theirs_.messages[i]);
    EXPECT_EQ(theirs_.deliveries[i].stream.value,
              read_header(octets.first<kHeaderSize>()).tid.value % 3);
  }
}

TEST_F(QuicChannelTest, SecretsAreWrittenNowhere) {
  ASSERT_EQ(kTold, 0);
  listen();
  open(port_);
  EXPECT_FALSE(std::filesystem::exists(kSecrets.path + "/secrets"));
}

TEST_F(QuicChannelTest, NamesAreThoseOfTheCertificates) {
  listen();
  open(port_);
  EXPECT_EQ(accepted_->certified_names(), std::vector<std::string>({"agent", "sip:agent@example"}));
  EXPECT_EQ(connected_->certified_names(), std::vector<std::string>({"box.example"}));
  EXPECT_EQ(accepted_->peer_address(), "127.0.0.1");
}

TEST_F(QuicChannelTest, AnAgentWithoutCertificateIsRefused) {
  agent_.tls = test::load_tls(TlsSide::kAgent, {{}, {}, authority().certificate()});
  listen();
  // It learns of it after its own part of the handshake (RFC 8446 4.4.2).
  if (!connect(port_)) {
    ASSERT_TRUE(loop_.run_until([&] { return ours_.closed == 1; }));
  }
  ASSERT_TRUE(loop_.run_until([&] { return !refused_.empty(); }));
  EXPECT_EQ(refused_.front().category(), tls_category());
  EXPECT_EQ(accepted_, nullptr);
  EXPECT_EQ(ours_.reason.category(), tls_category()) << ours_.reason.message();
}

TEST_F(QuicChannelTest, ACertificateOfAnotherAuthorityIsRefused) {
  const test::Authority other("other");
  auto files = other.issue("agent", "DNS:agent");
  files.authority = authority().certificate();
  agent_.tls = test::load_tls(TlsSide::kAgent, files);
  listen();
  if (!connect(port_)) {
    ASSERT_TRUE(loop_.run_until([&] { return ours_.closed == 1; }));
  }
  ASSERT_TRUE(loop_.run_until([&] { return !refused_.empty(); }));
  EXPECT_EQ(refused_.front(), tls_error(CertificateFault::kUnknownAuthority));
  // And the other way round.
  files = other.issue("middlebox", "IP:127.0.0.1");
  listen_.tls = test::load_tls(TlsSide::kMiddlebox, files);
  agent_.tls = test::load_tls(TlsSide::kAgent, agent_files());
  listening_.listeners.clear();
  listen();
  EXPECT_EQ(connect(port_), tls_error(CertificateFault::kUnknownAuthority));
}

TEST_F(QuicChannelTest, TheMiddleboxHasTheNameThatWasAskedFor) {
  listen();
  agent_.tls_name = "other.example";
  EXPECT_EQ(connect(port_), tls_error(CertificateFault::kOtherName));
  agent_.tls_name = "192.0.2.1";
  EXPECT_EQ(connect(port_), tls_error(CertificateFault::kOtherName));
  agent_.tls_name = "box.example";
  open(port_);
}

TEST_F(QuicChannelTest, WithoutCertificatesThereIsNone) {
  agent_.tls = nullptr;
  EXPECT_EQ(connect(1), NetError::kQuicCertificates);
  listen_.tls = nullptr;
  EXPECT_THROW(listen(), std::runtime_error);
}

TEST_F(QuicChannelTest, RenewedCertificatesCountFromThenOn) {
  listen();
  open(port_);
  const test::Authority other("other");
  listening_.listeners.front()->set_tls(
      test::load_tls(TlsSide::kMiddlebox, other.issue("middlebox", "IP:127.0.0.1")));
  send_requests(0, 1);
  EXPECT_TRUE(arrived(1));
  drop(connected_);
  EXPECT_EQ(connect(port_), tls_error(CertificateFault::kUnknownAuthority));
  agent_.tls = test::load_tls(TlsSide::kAgent, other.issue("agent", "DNS:agent"));
  accepted_.reset();
  open(port_);
}

TEST_F(QuicChannelTest, ClosedPortsRefuse) {
  EXPECT_EQ(connect(test::free_port()), boost::asio::error::connection_refused);
}

TEST_F(QuicChannelTest, NothingIsLostOnAPathThatLosesAndReorders) {
  listen();
  test::UdpRelay relay(loop_.io(), port_, {.loss = 0.05});
  open(relay.port());
  constexpr std::uint32_t kCount = 2000;
  for (std::uint32_t i = 0; i < kCount; i += 100) {
    send_requests(i, 100);
    ASSERT_TRUE(arrived(i / 2));
  }
  ASSERT_TRUE(arrived(kCount));
  EXPECT_GT(relay.lost(), 0U);
  accepted_->close();
  ASSERT_TRUE(loop_.run_until([&] { return ours_.closed == 1 && theirs_.closed == 1; }));
  EXPECT_FALSE(ours_.reason) << ours_.reason.message();
}

TEST_F(QuicChannelTest, AnAgentBehindANatMayGetAnotherPort) {
  listen();
  test::UdpRelay relay(loop_.io(), port_, {.loss = 0});
  open(relay.port());
  send_requests(0, 10);
  ASSERT_TRUE(arrived(10));
  const auto before = accepted_->peer_endpoint();
  relay.rebind();
  send_requests(10, 10);
  ASSERT_TRUE(arrived(20));
  ASSERT_TRUE(send(*accepted_, {1}, StReply{}));
  accepted_->flush();
  ASSERT_TRUE(loop_.run_until([&] { return ours_.messages.size() == 1; }));
  ASSERT_TRUE(loop_.run_until([&] { return accepted_->peer_endpoint() != before; }));
}

// The private key makes the resets: what a peer is told after a reload must be what the next
// process says.
TEST_F(QuicChannelTest, AfterARestartTheMiddleboxKnowsNothingAndSaysSo) {
  for (const bool renewed : {false, true}) {
    listen_.port = 0;
    listen();
    if (renewed) {
      listen_.tls =
          test::load_tls(TlsSide::kMiddlebox, authority().issue("renewed", "IP:127.0.0.1"));
      listening_.listeners.front()->set_tls(listen_.tls);
    } else {
      listen_.tls = test::load_tls(TlsSide::kMiddlebox, middlebox_files());
    }
    test::UdpRelay relay(loop_.io(), port_, {.loss = 0});
    open(relay.port());
    relay.cut(true);  // so that the agent does not hear of the end
    listening_.listeners.clear();
    drop(accepted_);
    loop_.watch(std::chrono::milliseconds(20));
    listen_.port = port_;
    listen();
    relay.cut(false);
    send_requests(0, 1);
    ASSERT_TRUE(loop_.run_until([&] { return ours_.closed == 1; })) << renewed;
    EXPECT_EQ(ours_.reason, boost::asio::error::connection_reset);
    listening_.listeners.clear();
    drop(connected_);
    ours_ = {};
  }
}

TEST_F(QuicChannelTest, WhatIsQueuedArrivesAlsoWhenItsOwnerLetsGo) {
  listen();
  test::UdpRelay relay(loop_.io(), port_, {.loss = 0.2, .seed = 3});
  open(relay.port());
  constexpr std::uint32_t kCount = 500;
  for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_TRUE(send(*accepted_, {i}, StReply{}));
  accepted_->close();
  drop(accepted_);
  ASSERT_TRUE(loop_.run_until([&] { return ours_.closed == 1; }));
  EXPECT_EQ(ours_.messages.size(), kCount);
  EXPECT_FALSE(ours_.reason) << ours_.reason.message();
}

// The word of the end is lost, and the peer goes on.
TEST_F(QuicChannelTest, AnEndIsSaidAgain) {
  listen();
  test::UdpRelay relay(loop_.io(), port_, {.loss = 0});
  open(relay.port());
  relay.cut(true);
  static_cast<quic::Channel&>(*accepted_).ended({});  // in an orderly way
  loop_.watch(std::chrono::milliseconds(20));
  relay.cut(false);
  send_requests(0, 1);
  ASSERT_TRUE(loop_.run_until([&] { return ours_.closed == 1; }));
  EXPECT_FALSE(ours_.reason) << "and not by a reset: " << ours_.reason.message();
}

TEST_F(QuicChannelTest, AnUnfinishedMessageWaitsWhateverOtherStreamsDo) {
  listen();
  open(port_);
  const auto part = test::from_hex("01 11 0028 00000001");
  std::ranges::copy(part, connected_->allocate(part.size(), {StreamId{1}}).begin());
  connected_->flush();
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.unfinished.has_value(); }));
  // A message on another stream every now and then: the time goes on.
  std::uint32_t sent = 0;
  ASSERT_TRUE(loop_.run_until([&] {
    if (theirs_.messages.size() == sent) send_requests(16 * ++sent, 1);
    return theirs_.unfinished >= std::chrono::milliseconds(50);
  }));
  EXPECT_GE(theirs_.messages.size(), 2U);
  // And ends with the message.
  const test::Octets rest(0x28, std::byte{0});
  std::ranges::copy(rest, connected_->allocate(rest.size(), {StreamId{1}}).begin());
  connected_->flush();
  ASSERT_TRUE(loop_.run_until([&] { return !theirs_.unfinished; }));
}

// A complete message must not be taken for one that nobody continues because its user was not
// ready.
TEST_F(QuicChannelTest, TheTimeOfAnUnfinishedMessageStopsWhileItsUserPauses) {
  using Clock = std::chrono::steady_clock;
  listen();
  open(port_);
  const auto begun = Clock::now();
  const auto part = test::from_hex("01 11 0028 00000001");
  std::ranges::copy(part, connected_->allocate(part.size(), {StreamId{1}}).begin());
  connected_->flush();
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.unfinished.has_value(); }));
  theirs_.pause_after = 1;
  send_requests(16, 1);
  ASSERT_TRUE(arrived(1));
  const auto paused = Clock::now();
  EXPECT_FALSE(theirs_.unfinished) << "it may have come";
  loop_.watch(std::chrono::milliseconds(50));
  theirs_.pause_after = 0;
  const auto resumed = Clock::now();
  accepted_->resume_input();
  send_requests(32, 1);
  ASSERT_TRUE(arrived(2));
  ASSERT_TRUE(theirs_.unfinished);
  EXPECT_LE(*theirs_.unfinished, Clock::now() - begun - (resumed - paused));
}

TEST_F(QuicChannelTest, AResetEndsAConnectionThatClosesAtOnce) {
  listen();
  test::UdpRelay relay(loop_.io(), port_, {.loss = 0});
  open(relay.port());
  relay.cut(true);  // nothing is acknowledged
  ASSERT_TRUE(send(*accepted_, {1}, StReply{}));
  accepted_->close();
  const std::weak_ptr<MessageChannel> channel = accepted_;
  accepted_->reset();
  accepted_.reset();
  while (loop_.io().poll() != 0) {  // what is ready, and nothing that is due later
  }
  EXPECT_TRUE(channel.expired());
}

// Parts of messages on all streams would otherwise take 64 KiB each.
TEST_F(QuicChannelTest, PartsOfMessagesTakeNoMoreThanTheWindow) {
  listen();
  open(port_);
  constexpr std::size_t kPart = 60'000;
  const auto start = test::from_hex("01 11 fff0 00000001");
  std::size_t given = 0;
  for (std::uint16_t stream = 0; stream < 16; ++stream) {
    const auto room = connected_->allocate(kPart, {StreamId{stream}});
    ASSERT_FALSE(room.empty());
    std::ranges::fill(room, std::byte{0});
    std::ranges::copy(start, room.begin());
    given += kPart;
  }
  connected_->flush();
  ASSERT_TRUE(loop_.run_until([&] { return theirs_.mid_message; }));
  loop_.watch();
  EXPECT_GE(connected_->queued(), given - quic::kWindow);
}

TEST_F(QuicChannelTest, AListenerMayStopAsSoonAsItHasAConnection) {
  std::vector<int> calls;
  listening_ = net::listen(
      loop_.io().get_executor(), listen_, read_buffer_,
      // What it has captured must still be there after the listener has gone.
      [this, &calls, mark = std::string(100, 'x')](std::shared_ptr<MessageChannel> channel) {
        listening_.listeners.front()->stop();
        listening_.listeners.clear();
        calls.push_back(static_cast<int>(mark.size()));
        channel->start(theirs_, {kMessageFramer});
        accepted_ = std::move(channel);
      },
      [](const error_code& error) { ADD_FAILURE() << error.message(); });
  open(listening_.listeners.front()->port());
  EXPECT_EQ(calls, std::vector<int>{100});
  send_requests(0, 1);
  EXPECT_TRUE(arrived(1));
}

TEST_F(QuicChannelTest, AStoppedListenerLeavesConnectionsAlone) {
  listen();
  open(port_);
  listening_.listeners.front()->stop();
  send_requests(0, 5);
  EXPECT_TRUE(arrived(5));
}

TEST_F(QuicChannelTest, StatisticsTellOfTheConnection) {
  listen();
  open(port_);
  send_requests(0, 5);
  ASSERT_TRUE(arrived(5));
  const auto figures = connected_->statistics();
  const auto sent = std::ranges::find(figures, "sent_packets", &TransportFigure::name);
  ASSERT_NE(sent, figures.end());
  EXPECT_TRUE(sent->total);
  EXPECT_GE(sent->value, 3);
  connected_->detach();
  EXPECT_EQ(connected_->statistics().size(), figures.size());
}

}  // namespace
}  // namespace simco::net
