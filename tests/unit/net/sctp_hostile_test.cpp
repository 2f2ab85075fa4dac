// Packets of peers that no agent's stack would send.
#include <gtest/gtest.h>

#include <fstream>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/connector.hpp"
#include "simco/net/error.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/sctp/kernel.hpp"
#include "simco/net/sctp/limits.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/sctp_peer.hpp"
#include "tests/support/sctp_stacks.hpp"

namespace simco::net {
namespace {

using boost::system::error_code;
using test::Chunk;
using test::SctpPeer;
using namespace std::chrono_literals;

// Sanitizers keep freed memory for a while; else half a KiB for each of 20'000.
constexpr std::size_t kNoise = test::kSanitized ? 500'000 : 10'000;

/// Resident memory of this process, KiB.
std::size_t resident_kib() {
  std::ifstream status("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  status >> total >> resident;
  return resident * 4;
}

class SctpHostileTest : public testing::TestWithParam<SctpStack> {
 protected:
  SctpHostileTest() {
    options_.transports = {Transport::kSctp};
    options_.port = 0;
    options_.settings.sctp = test::middlebox_options(GetParam());
    listening_ = net::listen(
        loop_.io().get_executor(), options_, read_buffer_,
        [this](std::shared_ptr<MessageChannel> channel) {
          accepted_.push_back(std::move(channel));
          handlers_.push_back(std::make_unique<test::RecordingHandler>());
          const auto hold_limit = without_session_ ? kSessionControlSizeMax : kMessageSizeMax;
          accepted_.back()->start(*handlers_.back(), {kMessageFramer, hold_limit});
        },
        [](const error_code& error) { ADD_FAILURE() << error.message(); });
    port_ = listening_.listeners.front()->port();
  }
  ~SctpHostileTest() override {
    for (auto& channel : accepted_) channel->detach();
    accepted_.clear();
    loop_.watch(20ms);
  }

  std::unique_ptr<SctpPeer> make_peer(std::uint16_t own_port = 40'000, std::uint8_t host = 1) {
    return std::make_unique<SctpPeer>(loop_.io(), options_.settings.sctp.udp_encaps, port_,
                                      own_port, host);
  }
  bool answered(SctpPeer& peer, Chunk chunk) {
    return loop_.run_until([&] { return peer.receive(chunk); });
  }
  /// Sends until it is answered: the loopback interface drops datagrams while others flood it.
  template <class Send>
  bool asks(SctpPeer& peer, Send send, Chunk reply) {
    return test::eventually([&] {
      send();
      return loop_.run_until([&] { return peer.receive(reply); }, test::kWatch);
    });
  }
  void open(SctpPeer& peer) {
    const auto before = accepted_.size();
    ASSERT_TRUE(asks(peer, [&] { peer.send_init(); }, Chunk::kInitAck));
    ASSERT_TRUE(asks(peer, [&] { peer.send_cookie_echo(); }, Chunk::kCookieAck));
    ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() > before; }));
  }
  bool has_messages(std::size_t channel, std::size_t count) {
    return loop_.run_until([&] { return handlers_[channel]->messages.size() >= count; }) &&
           handlers_[channel]->messages.size() == count;
  }

  const test::Octets hello_ = test::encoded({{16}, PrlRequest{}});
  test::Loop loop_;
  ReadBuffer read_buffer_{};
  ListenOptions options_;
  Listening listening_;
  std::uint16_t port_ = 0;
  bool without_session_ = false;  ///< channels begin as those of a middlebox do
  std::vector<std::shared_ptr<MessageChannel>> accepted_;
  std::vector<std::unique_ptr<test::RecordingHandler>> handlers_;
};

TEST_P(SctpHostileTest, DataOnAStreamBeyondTheNegotiatedOnesIsRefusedByTheStack) {
  const auto peer = make_peer();
  peer->streams = 1000;
  ASSERT_NO_FATAL_FAILURE(open(*peer));
  EXPECT_EQ(accepted_[0]->inbound_streams(), 16);
  EXPECT_EQ(accepted_[0]->outbound_streams(), 16);
  peer->send_data(999, 0, hello_);
  EXPECT_TRUE(answered(*peer, Chunk::kError));
  peer->send_data(3, 0, hello_);
  EXPECT_TRUE(has_messages(0, 1));
  EXPECT_EQ(handlers_[0]->deliveries[0].stream.value, 3);
  EXPECT_EQ(handlers_[0]->closed, 0);
}

// 15 is SIMCO's by IANA's list; ours to it and others from it.
TEST_P(SctpHostileTest, ThePayloadProtocolIsSimcoAndAnyIsTaken) {
  const auto peer = make_peer();
  ASSERT_NO_FATAL_FAILURE(open(*peer));
  send(*accepted_[0], {1}, StReply{});
  accepted_[0]->flush();
  ASSERT_TRUE(loop_.run_until([&] {
    peer->receive(Chunk::kData);
    return peer->messages.size() == 1;
  }));
  EXPECT_EQ(peer->payload_protocols, std::vector<std::uint32_t>{15});
  for (const std::uint16_t stream : {0, 1, 2}) {
    peer->payload_protocol = stream == 0 ? 0 : stream == 1 ? 15 : 0xFFFF'FFFF;
    peer->send_data(stream, 0, hello_);
    EXPECT_TRUE(has_messages(0, stream + 1U));
  }
}

// Where messages are rare nobody waits for the peer's delayed SACK; where they are not it is not
// bothered.
TEST_P(SctpHostileTest, AThinFlowAsksForItsSacksAtOnce) {
  const auto peer = make_peer();
  ASSERT_NO_FATAL_FAILURE(open(*peer));
  for (std::uint32_t i = 0; i < 3; ++i) {
    send(*accepted_[0], {i}, StReply{});
    accepted_[0]->flush();
    ASSERT_TRUE(loop_.run_until([&] {
      peer->receive(Chunk::kData);
      return peer->messages.size() == i + 1;
    }));
    loop_.watch(10ms);
  }
  EXPECT_EQ(peer->i_bits, std::vector<bool>(3, true));
  // Four at once share a packet; two more follow in the same millisecond, or we try again.
  std::uint32_t sent = 3;
  const auto follow_at_once = [&] {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < 6; ++i) {
      send(*accepted_[0], {sent++}, StReply{});
      if (i >= 3) accepted_[0]->flush();
    }
    return std::chrono::steady_clock::now() - begin < kSctpThinFlowGap;
  };
  std::size_t before = 0;
  bool at_once = false;
  while (!at_once && sent < 10'000) {
    before = peer->i_bits.size();
    at_once = follow_at_once();
    ASSERT_TRUE(loop_.run_until([&] {
      peer->receive(Chunk::kData);
      return peer->messages.size() == sent;
    }));
    loop_.watch(10ms);
  }
  ASSERT_TRUE(at_once);
  EXPECT_EQ(std::count(peer->i_bits.begin() + static_cast<std::ptrdiff_t>(before),
                       peer->i_bits.end(), true),
            1);
}

TEST_P(SctpHostileTest, APeerThatStartsAnewGetsANewConnection) {
  const auto peer = make_peer();
  ASSERT_NO_FATAL_FAILURE(open(*peer));
  peer->send_data(0, 0, hello_);
  ASSERT_TRUE(has_messages(0, 1));
  peer->tag = 0x9ABC'DEF0;  // it has lost its memory: same ports, other tag
  ASSERT_NO_FATAL_FAILURE(open(*peer));
  EXPECT_EQ(handlers_[0]->closed, 1);
  EXPECT_EQ(handlers_[0]->reason, error_code(NetError::kAssociationRestarted));
  peer->send_data(0, 0, hello_);
  EXPECT_TRUE(has_messages(1, 1));
  ASSERT_TRUE(send(*accepted_[1], {16}, StReply{}));
  accepted_[1]->flush();
  EXPECT_TRUE(answered(*peer, Chunk::kData));
  EXPECT_EQ(peer->messages.back(), test::encoded({{16}, StReply{}}));
}

TEST_P(SctpHostileTest, PeersWithTheSamePortsAreToldApart) {
  std::vector<std::unique_ptr<SctpPeer>> peers;
  for (std::uint8_t i = 0; i < 20; ++i) {
    peers.push_back(make_peer(40'000, 2 + i));
    peers.back()->tag += i;
    ASSERT_NO_FATAL_FAILURE(open(*peers.back()));
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    peers[i]->send_data(0, 0, test::encoded({{static_cast<std::uint32_t>(i)}, PrlRequest{}}));
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    ASSERT_TRUE(has_messages(i, 1));
    EXPECT_EQ(decode(handlers_[i]->messages[0])->tid.value, i);
    send(*accepted_[i], {static_cast<std::uint32_t>(i)}, StReply{});
    accepted_[i]->flush();
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    EXPECT_TRUE(answered(*peers[i], Chunk::kData));
    EXPECT_EQ(decode(peers[i]->messages.at(0))->tid.value, i);
  }
}

// RFC 6951 section 5.4.
TEST_P(SctpHostileTest, APeerMayChangeItsUdpPort) {
  const auto peer = make_peer();
  ASSERT_NO_FATAL_FAILURE(open(*peer));
  peer->send_data(0, 0, hello_);
  ASSERT_TRUE(has_messages(0, 1));
  peer->change_udp_port();
  peer->send_data(0, 1, hello_);
  EXPECT_TRUE(has_messages(0, 2));
  EXPECT_TRUE(answered(*peer, Chunk::kSack));
  // A peer without the tag gets no packet of it.
  const auto stranger = make_peer();
  stranger->peer_tag = peer->peer_tag + 1;
  stranger->send_data(0, 2, hello_);
  send(*accepted_[0], {16}, StReply{});
  accepted_[0]->flush();
  EXPECT_TRUE(answered(*peer, Chunk::kData));
  EXPECT_TRUE(stranger->messages.empty());
  EXPECT_TRUE(has_messages(0, 2));
}

TEST_P(SctpHostileTest, HalfOpenAssociationsLeaveNothing) {
  const auto warm_up = make_peer();
  ASSERT_NO_FATAL_FAILURE(open(*warm_up));
  const auto flood = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto peer = make_peer(static_cast<std::uint16_t>(1024 + i));
      const auto send = [&] { peer->send_init(); };
      if (i % 100 == 0) {
        EXPECT_TRUE(asks(*peer, send, Chunk::kInitAck));
      } else {
        send();
      }
    }
    loop_.watch(50ms);
  };
  flood(2'000);
  const auto before = resident_kib();
  flood(20'000);
  EXPECT_LT(resident_kib(), before + kNoise);
  EXPECT_EQ(accepted_.size(), 1U);
  warm_up->send_data(0, 0, hello_);
  EXPECT_TRUE(has_messages(0, 1));
}

// Data behind a gap has to be kept; before there is a session, little of it.
TEST_P(SctpHostileTest, AnAssociationWithoutASessionCostsLittle) {
  if (GetParam() == SctpStack::kKernel) return;  // it keeps that in memory of its own
  without_session_ = true;
  constexpr std::size_t kPeers = 30;
  const auto before = resident_kib();
  std::vector<std::unique_ptr<SctpPeer>> peers;
  for (std::size_t i = 0; i < kPeers; ++i) {
    auto& peer = *peers.emplace_back(make_peer(static_cast<std::uint16_t>(41'000 + i)));
    ASSERT_NO_FATAL_FAILURE(open(peer));
    peer.lose_one();
    for (std::uint16_t batch = 0; batch < 30; ++batch) {
      for (std::uint16_t j = 1; j <= 30; ++j) {
        peer.send_data(0, static_cast<std::uint16_t>(batch * 30 + j), test::Octets(1000));
      }
      ASSERT_TRUE(asks(peer, [&] { peer.send_heartbeat(); }, Chunk::kHeartbeatAck));
    }
  }
  EXPECT_LT(resident_kib(), before + kPeers * 128 + kNoise);
}

TEST_P(SctpHostileTest, AnInitThatIsRepeatedMakesOneAssociation) {
  const auto peer = make_peer();
  peer->send_init();
  ASSERT_TRUE(asks(*peer, [&] { peer->send_init(); }, Chunk::kInitAck));
  ASSERT_TRUE(asks(*peer, [&] { peer->send_cookie_echo(); }, Chunk::kCookieAck));
  ASSERT_TRUE(asks(*peer, [&] { peer->send_heartbeat(); }, Chunk::kHeartbeatAck));
  ASSERT_TRUE(loop_.run_until([&] { return !accepted_.empty(); }));
  EXPECT_EQ(accepted_.size(), 1U);
}

TEST_P(SctpHostileTest, ACookieFromElsewhereHarmsNobody) {
  const auto victim = make_peer();
  ASSERT_TRUE(asks(*victim, [&] { victim->send_init(); }, Chunk::kInitAck));
  const auto thief = make_peer();
  thief->cookie = victim->cookie;
  thief->peer_tag = victim->peer_tag;
  ASSERT_TRUE(asks(*victim, [&] { victim->send_cookie_echo(); }, Chunk::kCookieAck));
  ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() == 1; }));
  for (int i = 0; i < 5; ++i) thief->send_cookie_echo();
  thief->send_data(0, 0, hello_);
  loop_.watch();
  EXPECT_TRUE(thief->messages.empty());
  victim->send_data(0, 0, hello_);
  EXPECT_TRUE(has_messages(0, 1));
  EXPECT_EQ(handlers_[0]->closed, 0);
}

// No association under an address whose packets one does not get.
TEST_P(SctpHostileTest, ACookieCountsOnlyOnThePathOfItsInitAck) {
  if (GetParam() == SctpStack::kKernel) return;  // its cookie is the kernel's business
  const auto owner = make_peer();
  ASSERT_TRUE(asks(*owner, [&] { owner->send_init(); }, Chunk::kInitAck));
  std::vector<std::unique_ptr<SctpPeer>> thieves;
  const auto steal = [&](std::uint8_t host) -> SctpPeer& {
    auto& thief = *thieves.emplace_back(make_peer(40'000, host));
    thief.cookie = owner->cookie;
    thief.peer_tag = owner->peer_tag;
    return thief;
  };
  for (std::uint8_t host = 1; host <= 40; ++host) {  // at another UDP port, and elsewhere
    steal(host).send_cookie_echo();
    // Where its own INIT came first, so that it is known there.
    auto& other = *thieves.emplace_back(make_peer(40'000, host));
    ASSERT_TRUE(asks(other, [&] { other.send_init(); }, Chunk::kInitAck));
    other.cookie = owner->cookie;
    other.peer_tag = owner->peer_tag;
    other.send_cookie_echo();
  }
  // Nor behind another chunk, changed, cut, or of another type.
  auto& liar = steal(1);
  test::Octets behind = test::from_hex("04 00 0008 0001 0004  0a 00 0000");
  behind[10] = static_cast<std::byte>((4 + owner->cookie.size()) >> 8);
  behind[11] = static_cast<std::byte>(4 + owner->cookie.size());
  behind.insert(behind.end(), owner->cookie.begin(), owner->cookie.end());
  liar.send_junk(behind);
  for (std::size_t i = 0; i < owner->cookie.size(); i += 7) {
    liar.cookie = owner->cookie;
    liar.cookie[i] ^= std::byte{1};
    liar.send_cookie_echo();
    liar.cookie.resize(i);
    liar.send_cookie_echo();
  }
  ASSERT_TRUE(asks(*owner, [&] { owner->send_cookie_echo(); }, Chunk::kCookieAck));
  ASSERT_TRUE(loop_.run_until([&] { return !accepted_.empty(); }));
  EXPECT_EQ(accepted_.size(), 1U);
  EXPECT_EQ(accepted_[0]->peer_address(), "127.0.0.1");
  for (auto& thief : thieves) EXPECT_FALSE(thief->receive(Chunk::kCookieAck));
  owner->send_data(0, 0, hello_);
  EXPECT_TRUE(has_messages(0, 1));
}

std::string name_of_stack(const testing::TestParamInfo<SctpStack>&) { return "Stack"; }
INSTANTIATE_TEST_SUITE_P(Userland, SctpHostileTest, testing::Values(SctpStack::kUserland),
                         name_of_stack);
INSTANTIATE_TEST_SUITE_P(Kernel, SctpHostileTest, testing::Values(SctpStack::kKernel),
                         name_of_stack);

}  // namespace
}  // namespace simco::net
