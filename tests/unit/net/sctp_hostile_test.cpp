// What peers may send that no agent's stack would.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "simco/net/connector.hpp"
#include "simco/net/error.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/sctp/kernel.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/sctp_peer.hpp"
#include "tests/support/sctp_stacks.hpp"

namespace simco::net {
namespace {

using boost::system::error_code;
using test::Chunk;
using test::SctpPeer;
using namespace std::chrono_literals;

// Sanitizers keep freed memory for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kNoise = 300'000;
#else
constexpr std::size_t kNoise = 2'000;
#endif

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
    options_.sctp = test::middlebox_options(GetParam());
    listening_ = net::listen(
        loop_.io().get_executor(), options_, read_buffer_,
        [this](std::shared_ptr<MessageChannel> channel) {
          accepted_.push_back(std::move(channel));
          handlers_.push_back(std::make_unique<test::RecordingHandler>());
          accepted_.back()->start(*handlers_.back());
        },
        [](const error_code& error) { ADD_FAILURE() << error.message(); });
    port_ = listening_.listeners.front()->port();
  }
  ~SctpHostileTest() override {
    for (auto& channel : accepted_) channel->detach();
    accepted_.clear();
    loop_.run_for_a_while(20ms);
  }

  std::unique_ptr<SctpPeer> make_peer(std::uint16_t own_port = 40'000, std::uint8_t host = 1) {
    return std::make_unique<SctpPeer>(loop_.io(), options_.sctp.udp_encaps, port_, own_port, host);
  }
  bool answered(SctpPeer& peer, Chunk chunk, std::chrono::seconds limit = 5s) {
    return loop_.run_until([&] { return peer.receive(chunk); }, limit);
  }
  void open(SctpPeer& peer) {
    const auto before = accepted_.size();
    peer.send_init();
    ASSERT_TRUE(answered(peer, Chunk::kInitAck));
    peer.send_cookie_echo();
    ASSERT_TRUE(answered(peer, Chunk::kCookieAck));
    ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() > before; }));
  }
  bool has_messages(std::size_t channel, std::size_t count) {
    return loop_.run_until([&] { return handlers_[channel]->messages.size() >= count; }, 5s) &&
           handlers_[channel]->messages.size() == count;
  }

  const test::Octets hello_ = test::encoded({{16}, PrlRequest{}});
  test::Loop loop_;
  ReadBuffer read_buffer_{};
  ListenOptions options_;
  Listening listening_;
  std::uint16_t port_ = 0;
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

// Where messages are rare nobody waits for the peer's delayed SACK; where they are not it is not
// bothered.
TEST_P(SctpHostileTest, AThinFlowAsksForItsSacksAtOnce) {
  const auto peer = make_peer();
  ASSERT_NO_FATAL_FAILURE(open(*peer));
  for (std::uint32_t i = 0; i < 3; ++i) {
    accepted_[0]->send({i}, StReply{});
    accepted_[0]->flush();
    ASSERT_TRUE(loop_.run_until([&] {
      peer->receive(Chunk::kData);
      return peer->messages.size() == i + 1;
    }));
    loop_.run_for_a_while(10ms);
  }
  EXPECT_EQ(peer->i_bits, std::vector<bool>(3, true));
  // Four at once share a packet; two more follow in the same millisecond.
  for (std::uint32_t i = 0; i < 6; ++i) {
    accepted_[0]->send({i}, StReply{});
    if (i >= 3) accepted_[0]->flush();
  }
  ASSERT_TRUE(loop_.run_until([&] {
    peer->receive(Chunk::kData);
    return peer->messages.size() == 9;
  }));
  EXPECT_EQ(std::ranges::count(peer->i_bits, true), 3 + 1);
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
  ASSERT_TRUE(accepted_[1]->send({16}, StReply{}));
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
    accepted_[i]->send({static_cast<std::uint32_t>(i)}, StReply{});
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
  // Who does not know the tag gets no packet of it.
  const auto stranger = make_peer();
  stranger->peer_tag = peer->peer_tag + 1;
  stranger->send_data(0, 2, hello_);
  accepted_[0]->send({16}, StReply{});
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
      peer->send_init();
      if (i % 100 == 0) {
        EXPECT_TRUE(answered(*peer, Chunk::kInitAck));
      }
    }
    loop_.run_for_a_while(50ms);
  };
  flood(2'000);
  const auto before = resident_kib();
  flood(20'000);
  EXPECT_LT(resident_kib(), before + kNoise);
  EXPECT_EQ(accepted_.size(), 1U);
  warm_up->send_data(0, 0, hello_);
  EXPECT_TRUE(has_messages(0, 1));
}

TEST_P(SctpHostileTest, ACookieFromElsewhereHarmsNobody) {
  const auto victim = make_peer();
  victim->send_init();
  ASSERT_TRUE(answered(*victim, Chunk::kInitAck));
  const auto thief = make_peer();
  thief->cookie = victim->cookie;
  thief->peer_tag = victim->peer_tag;
  victim->send_cookie_echo();
  ASSERT_TRUE(answered(*victim, Chunk::kCookieAck));
  ASSERT_TRUE(loop_.run_until([&] { return accepted_.size() == 1; }));
  for (int i = 0; i < 5; ++i) thief->send_cookie_echo();
  thief->send_data(0, 0, hello_);
  loop_.run_for_a_while();
  EXPECT_TRUE(thief->messages.empty());
  victim->send_data(0, 0, hello_);
  EXPECT_TRUE(has_messages(0, 1));
  EXPECT_EQ(handlers_[0]->closed, 0);
}

TEST_P(SctpHostileTest, JunkHarmsNobody) {
  const auto peer = make_peer();
  ASSERT_NO_FATAL_FAILURE(open(*peer));
  const auto stranger = make_peer(5);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    test::Octets junk(random() % 200);
    for (auto& octet : junk) octet = static_cast<std::byte>(random() % (i % 2 == 0 ? 256 : 16));
    stranger->send_junk(junk);
    if (i % 50 == 0) loop_.run_for_a_while(1ms);
  }
  peer->send_data(0, 0, hello_);
  EXPECT_TRUE(has_messages(0, 1));
}

std::string name_of_stack(const testing::TestParamInfo<SctpStack>&) { return "Stack"; }
INSTANTIATE_TEST_SUITE_P(Userland, SctpHostileTest, testing::Values(SctpStack::kUserland),
                         name_of_stack);
INSTANTIATE_TEST_SUITE_P(Kernel, SctpHostileTest, testing::Values(SctpStack::kKernel),
                         name_of_stack);

}  // namespace
}  // namespace simco::net
