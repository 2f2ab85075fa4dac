// A shortage of memory while a connection is made or ends.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "simco/binding/framer.hpp"
#include "simco/net/listener.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/connected.hpp"
#include "tests/support/loop.hpp"
#include "tests/unit/net/quic_two_ends.hpp"

namespace {

constexpr int kEnough = -1;
thread_local int allocations_left = kEnough;

}  // namespace

// Of this whole program.
void* operator new(std::size_t size) {
  if (allocations_left != kEnough && allocations_left-- == 0) {
    allocations_left = 0;
    throw std::bad_alloc();
  }
  void* const room = std::malloc(size == 0 ? 1 : size);
  if (room == nullptr) throw std::bad_alloc();
  return room;
}
void operator delete(void* room) noexcept { std::free(room); }
void operator delete(void* room, std::size_t) noexcept { std::free(room); }

namespace simco::net::quic {
namespace {

TEST(QuicMemory, AConnectionEndsWithoutIt) {
  static const test::Authority authority;
  test::Loop loop;
  ReadBuffer buffer{};
  ListenOptions options;
  options.transports = {Transport::kQuic};
  options.port = 0;
  options.tls = test::load_tls(TlsSide::kMiddlebox, authority.issue("middlebox", "IP:127.0.0.1"));
  TransportOptions agent;
  agent.transport = Transport::kQuic;
  agent.tls = test::load_tls(TlsSide::kAgent, authority.issue("agent"));
  test::RecordingHandler theirs;
  std::shared_ptr<MessageChannel> accepted;
  auto listening = net::listen(
      loop.io().get_executor(), options, buffer,
      [&](std::shared_ptr<MessageChannel> channel) {
        channel->start(theirs, {kMessageFramer});
        accepted = std::move(channel);
      },
      [](const boost::system::error_code& error) { ADD_FAILURE() << error.message(); });
  // As users end one: by letting go of it, and by a call, which the end of a timer is like.
  const std::vector<std::function<void(MessageChannel&)>> ends = {
      [](MessageChannel&) {}, [](MessageChannel& channel) { channel.reset(); }};
  constexpr int kMost = 24;  // more than the ends of two take
  for (int i = 0; i < kMost; ++i) {
    const int left = i / 2;
    test::RecordingHandler ours;
    std::shared_ptr<MessageChannel> connected;
    const auto error =
        test::connect(loop, buffer, agent, listening.listeners.front()->port(), ours, connected);
    ASSERT_FALSE(error) << error.message();
    ASSERT_TRUE(loop.run_until([&] { return accepted != nullptr; }));
    allocations_left = left;
    ends[static_cast<std::size_t>(i % 2)](*accepted);
    accepted.reset();
    allocations_left = kEnough;
    const auto room = connected->allocate(8, {});
    ASSERT_EQ(room.size(), 8U);
    connected->flush();
    // Told by the end itself or by a stateless reset.
    EXPECT_TRUE(loop.run_until([&] { return ours.closed == 1; })) << left;
    connected->detach();
  }
  loop.watch(std::chrono::milliseconds(20));
  listening.listeners.clear();
}

class QuicHandshakeMemoryTest : public QuicTwoEnds {
 protected:
  /// A handshake in which each packet that reaches the agent may take `left` allocations.
  void call_with(int left) {
    agent_ = {};
    middlebox_ = {};
    under_way_.clear();
    call();
    while (!under_way_.empty() && !agent_.connection->up() && !agent_.connection->over()) {
      const auto packet = under_way_.front();
      under_way_.pop_front();
      now_ = packet.at;
      if (packet.from_agent) {
        arrive(packet.octets, true);
        continue;
      }
      allocations_left = left;
      agent_.connection->receive({here_, there_}, packet.octets, now_);
      allocations_left = kEnough;
      pump(agent_);
    }
  }
};

TEST_F(QuicHandshakeMemoryTest, AConnectionThatIsMadeWithoutItEnds) {
  constexpr int kMost = 200;  // more than a handshake takes
  int left = 0;
  for (call_with(left); !agent_.connection->up(); call_with(++left)) {
    ASSERT_LT(left, kMost);
    ASSERT_TRUE(agent_.connection->over());
    EXPECT_TRUE(*agent_.connection->over());
  }
  EXPECT_GT(left, 0);
}

}  // namespace
}  // namespace simco::net::quic
