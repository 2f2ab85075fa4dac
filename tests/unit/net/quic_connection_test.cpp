// Losses, delays and silence between two connections, in virtual time.
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/error.hpp>
#include <optional>
#include <random>

#include "tests/unit/net/quic_forger.hpp"
#include "tests/unit/net/quic_two_ends.hpp"

namespace simco::net::quic {
namespace {

class QuicConnectionTest : public QuicTwoEnds {
 protected:
  /// Of packets with 50 octets of streams 0 and 1.
  void lose_the_first_of_two() {
    run_for(1s);
    lose_ = [first = true](const auto&, bool from_agent) mutable {
      return from_agent && std::exchange(first, false);
    };
    for (StreamNumber i = 0; i < 2; ++i) {
      agent_.send(i, 50);
      pump(agent_);
    }
  }
};

TEST_F(QuicConnectionTest, OctetsArriveOnTheirStreams) {
  open();
  EXPECT_EQ(agent_.connection->streams(), 16);
  for (StreamNumber i = 0; i < 16; ++i) agent_.send(i, 100 + i, std::byte(i));
  pump(agent_);
  ASSERT_TRUE(run_until([&] { return middlebox_.received == 16 * 100 + 120; }));
  for (StreamNumber i = 0; i < 16; ++i) {
    EXPECT_EQ(middlebox_.inputs[i], Octets(100 + i, std::byte(i)));
  }
  EXPECT_EQ(agent_.connection->queued(), 0U);
  // Acknowledged data takes no memory.
  ASSERT_TRUE(run_until([&] { return agent_.connection->figures().output_memory == 0; }));
}

TEST_F(QuicConnectionTest, ALostPacketDelaysOnlyItsOwnStreams) {
  open();
  lose_the_first_of_two();
  ASSERT_TRUE(run_until([&] { return middlebox_.received == 50; }));
  EXPECT_EQ(middlebox_.inputs[1].size(), 50U);
  ASSERT_TRUE(run_until([&] { return middlebox_.inputs[0].size() == 50; }));
}

// A loop that is busy writes before it looks at its timers.
TEST_F(QuicConnectionTest, WhatALateTimerWouldFindLostGoesOutWithTheNextWord) {
  open();
  lose_the_first_of_two();
  ASSERT_TRUE(run_until([&] { return under_way_.empty(); }));
  ASSERT_EQ(middlebox_.received, 50U);
  const auto due = agent_.connection->expiry();
  ASSERT_LE(due, now_ + kDelay) << "when packets count as lost, not when the peer is probed";
  now_ = due;
  agent_.send(2, 50);
  pump(agent_);
  lose_ = [](const auto&, bool from_agent) { return !from_agent; };
  for (const auto& packet : std::exchange(under_way_, {})) arrive(packet.octets, true);
  EXPECT_EQ(middlebox_.inputs[2].size(), 50U);
  EXPECT_EQ(middlebox_.inputs[0].size(), 50U);
}

TEST_F(QuicConnectionTest, EverythingArrivesBeforeTheEnd) {
  open();
  std::mt19937 random(7);
  lose_ = [&](const auto&, bool) { return random() % 5 == 0; };
  for (StreamNumber i = 0; i < 16; ++i) agent_.send(i, 1000);
  agent_.connection->finish();
  pump(agent_);
  EXPECT_FALSE(agent_.connection->finished());
  ASSERT_TRUE(run_until([&] { return agent_.connection->finished(); }));
  EXPECT_EQ(middlebox_.received, 16'000U);
  EXPECT_EQ(middlebox_.fins, 16U);
  lose_ = [](const auto&, bool) { return false; };
  agent_.connection->end(CloseCode::kOrderly, now_);
  pump(agent_);
  ASSERT_TRUE(run_until([&] { return middlebox_.connection->over().has_value(); }));
  EXPECT_FALSE(*middlebox_.connection->over());
}

TEST_F(QuicConnectionTest, ADroppedConnectionIsAReset) {
  open();
  middlebox_.connection->end(CloseCode::kDropped, now_);
  pump(middlebox_);
  ASSERT_TRUE(run_until([&] { return agent_.connection->over().has_value(); }));
  EXPECT_EQ(*agent_.connection->over(), boost::asio::error::connection_reset);
}

TEST_F(QuicConnectionTest, APeerThatDoesNotReadHoldsUpItsPeerOnly) {
  middlebox_.reads = false;
  open();
  for (StreamNumber i = 0; i < 16; ++i) agent_.send(i, 64 * 1024);
  pump(agent_);
  run_for(10s);
  EXPECT_LE(middlebox_.received, kGuestWindow);
  EXPECT_GE(agent_.connection->queued(), 16 * 64 * 1024 - kGuestWindow);
  // The window of a session is larger, and as strict.
  middlebox_.connection->open_window();
  pump(middlebox_);
  run_for(10s);
  EXPECT_LE(middlebox_.received, kWindow);
  EXPECT_GT(middlebox_.received, kWindow / 2);
  middlebox_.reads = true;
  pump(middlebox_);
  ASSERT_TRUE(run_until([&] { return middlebox_.received == 16 * 64 * 1024; }));
  EXPECT_EQ(agent_.connection->queued(), 0U);
}

// Its peer gives room back for whole messages only.
TEST_F(QuicConnectionTest, AMessageIsFinishedBeforeAnotherBegins) {
  middlebox_.reads = false;
  open();
  middlebox_.connection->open_window();
  pump(middlebox_);
  constexpr std::size_t kLong = 60'000;
  for (StreamNumber i = 0; i < 16; ++i) agent_.send(i, kLong);
  pump(agent_);
  for (std::size_t whole = 0; whole < 16;) {
    const auto before = whole;
    run_for(5s);
    std::size_t parts = 0;
    for (auto& [stream, size] : middlebox_.unread) {
      if (size == kLong) {
        ++whole;
        middlebox_.connection->consumed(stream, std::exchange(size, 0));
      }
      parts += size != 0 ? 1 : 0;
    }
    EXPECT_LE(parts, 1U);
    ASSERT_GT(whole, before);
    pump(middlebox_);
  }
  EXPECT_EQ(agent_.connection->queued(), 0U);
}

TEST_F(QuicConnectionTest, ShortMessagesOfAllStreamsTakeTurns) {
  open();
  run_for(1s);
  for (StreamNumber i = 0; i < 2; ++i) {
    for (int n = 0; n < 1000; ++n) agent_.send(i, 50);
  }
  pump(agent_);
  ASSERT_TRUE(run_until([&] { return middlebox_.received >= 10'000; }));
  EXPECT_GT(middlebox_.inputs[0].size(), 2000U);
  EXPECT_GT(middlebox_.inputs[1].size(), 2000U);
}

// An attacker who sees a packet sends it again in another's name (RFC 9000 9.3.1 and 9.3.2).
TEST_F(QuicConnectionTest, AForgedAddressGetsLittleAndTakesNothingAway) {
  open();
  run_for(1s);
  middlebox_.elsewhere = {boost::asio::ip::make_address("203.0.113.9"), 4000};
  Octets seen;
  lose_ = [&](const Octets& packet, bool from_agent) {
    if (from_agent) seen = packet;
    return from_agent;
  };
  agent_.send(0, 200);
  pump(agent_);
  lose_ = [](const auto&, bool) { return false; };
  ASSERT_FALSE(seen.empty());
  middlebox_.connection->receive({there_, middlebox_.elsewhere}, seen, now_);
  EXPECT_EQ(middlebox_.received, 200U);
  middlebox_.send(0, 100'000);
  pump(middlebox_);
  EXPECT_NE(middlebox_.sent_to[middlebox_.elsewhere], 0U) << "the new path is probed";
  ASSERT_TRUE(run_until([&] { return agent_.received == 100'000; }));
  EXPECT_LE(middlebox_.sent_to[middlebox_.elsewhere], 3 * seen.size());
  EXPECT_EQ(middlebox_.connection->way().remote, here_);
}

// It acknowledges packets and gives room for more, so nothing is queued; but the output of a stream
// is kept from the first octet on that has not been acknowledged.
TEST_F(QuicConnectionTest, APeerThatAcknowledgesAllButTheBeginningIsHeldUp) {
  open();
  run_for(1s);
  constexpr std::size_t kFirst = 300;
  constexpr std::size_t kNext = 1000;
  lose_ = [&](const Octets& packet, bool from_agent) {
    return from_agent && packet.size() >= kFirst && packet.size() < kNext;
  };
  agent_.send(0, kFirst);
  pump(agent_);
  std::size_t sent = kFirst;
  // Later packets have no octets of the stream, so that the peer does not have to keep them all.
  std::optional<Forger> forger([&](std::span<std::uint8_t> frames) {
    if (frames.size() < kNext) return;
    std::ranges::fill(frames, 0);
    std::ranges::copy(std::to_array<std::uint8_t>({0x0a, 2, 0}), frames.begin());
  });
  while (agent_.connection->queued() == 0 && sent < 2 * kUnacknowledgedMax) {
    agent_.send(0, kNext);
    sent += kNext;
    pump(agent_);
    middlebox_.connection->consumed(0, kNext);
    run_for(50ms);
    ASSERT_FALSE(agent_.connection->over());
  }
  EXPECT_EQ(middlebox_.received, 0U);
  EXPECT_GT(sent, kUnacknowledgedMax);
  EXPECT_LE(sent, kUnacknowledgedMax + kNext);
  EXPECT_EQ(agent_.connection->queued(), sent - kUnacknowledgedMax);
  forger.reset();
  lose_ = [](const auto&, bool) { return false; };
  ASSERT_TRUE(run_until([&] { return middlebox_.received == kFirst; }));
  ASSERT_TRUE(run_until([&] { return agent_.connection->queued() == 0; }));
}

TEST_F(QuicConnectionTest, AnIdleConnectionIsOver) {
  options_.keep_alive = 0ms;
  options_.idle_timeout = 5s;
  middlebox_options_ = options_;
  open();
  ASSERT_TRUE(run_until([&] {
    return agent_.connection->over().has_value() && middlebox_.connection->over().has_value();
  }));
  EXPECT_EQ(*agent_.connection->over(), boost::asio::error::timed_out);
  EXPECT_EQ(*middlebox_.connection->over(), boost::asio::error::timed_out);
}

TEST_F(QuicConnectionTest, KeepAlivesKeepItForLittle) {
  options_.keep_alive = 1s;
  options_.idle_timeout = 5s;
  open();
  run_for(1s);
  packets_ = 0;
  run_for(100s);
  EXPECT_FALSE(agent_.connection->over());
  EXPECT_FALSE(middlebox_.connection->over());
  EXPECT_LE(packets_, 300U);
}

// The shorter idle timeout counts (RFC 9000 10.1), and the agent alone keeps the connection.
TEST_F(QuicConnectionTest, KeepAlivesComeInTimeForThePeer) {
  options_.keep_alive = 5s;
  options_.idle_timeout = 30s;
  middlebox_options_.idle_timeout = 2s;
  open();
  run_for(30s);
  EXPECT_FALSE(agent_.connection->over());
  EXPECT_FALSE(middlebox_.connection->over());
}

TEST_F(QuicConnectionTest, ADeadPeerIsNoticed) {
  open();
  lose_ = [](const auto&, bool) { return true; };
  agent_.send(0, 100);
  pump(agent_);
  ASSERT_TRUE(run_until([&] { return agent_.connection->over().has_value(); }));
  EXPECT_EQ(*agent_.connection->over(), boost::asio::error::timed_out);
}

TEST_F(QuicConnectionTest, AHandshakeThatStallsEndsAndCostsLittle) {
  std::size_t heard = 0;
  // The agent says its first word and nothing more: perhaps it is not where it says it is.
  lose_ = [&](const Octets& packet, bool from_agent) {
    if (!from_agent) return true;
    if (heard != 0) return true;
    heard = packet.size();
    return false;
  };
  call();
  ASSERT_TRUE(run_until(
      [&] { return middlebox_.connection && middlebox_.connection->over().has_value(); }));
  EXPECT_EQ(*middlebox_.connection->over(), boost::asio::error::timed_out);
  // RFC 9000 8.1
  EXPECT_LE(middlebox_.sent, 3 * heard);
  EXPECT_FALSE(middlebox_.connection->up());
}

TEST_F(QuicConnectionTest, AnAddressIsProvenByWhatComesBackFromIt) {
  lose_ = [&](const auto&, bool from_agent) { return !from_agent; };
  call();
  ASSERT_TRUE(run_until([&] { return middlebox_.connection != nullptr; }));
  run_for(1s);
  EXPECT_FALSE(middlebox_.connection->proven());
  lose_ = [](const auto&, bool) { return false; };
  ASSERT_TRUE(run_until([&] { return middlebox_.connection->up(); }));
  EXPECT_TRUE(middlebox_.connection->proven());
}

TEST_F(QuicConnectionTest, DamagedAndRepeatedPacketsChangeNothing) {
  open();
  std::mt19937 random(3);
  lose_ = [&](const Octets& packet, bool from_agent) {
    for (int i = 0; i < 5; ++i) {
      auto damaged = packet;
      damaged[1 + random() % (damaged.size() - 1)] ^= std::byte(1 + random() % 255);
      if (i == 4) damaged.resize(1 + random() % damaged.size());
      under_way_.push_back({now_ + kDelay, from_agent, damaged});
    }
    under_way_.push_back({now_ + kDelay, from_agent, packet});
    return false;
  };
  for (int round = 0; round < 50; ++round) {
    agent_.send(static_cast<StreamNumber>(round % 16), 200);
    pump(agent_);
    ASSERT_TRUE(run_until([&] { return middlebox_.received == 200U * (round + 1); }));
  }
  EXPECT_FALSE(agent_.connection->over());
  EXPECT_FALSE(middlebox_.connection->over());
}

TEST_F(QuicConnectionTest, ADamagedHandshakeNeverComesUpWrong) {
  // Anyone on the path can change packets without keys: the handshake may fail, but not go wrong.
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    agent_ = {};
    middlebox_ = {};
    under_way_.clear();
    lose_ = [&](const Octets& packet, bool from_agent) {
      auto damaged = packet;
      for (auto n = random() % 4; n != 0; --n)
        damaged[random() % damaged.size()] = std::byte(random());
      under_way_.push_back({now_ + kDelay, from_agent, damaged});
      return random() % 2 == 0;
    };
    call();
    run_until([&] { return agent_.connection->up() || agent_.connection->over(); });
    if (!agent_.connection->up()) continue;
    EXPECT_EQ(agent_.connection->peer_names(), std::vector<std::string>({"box"}));
  }
}

}  // namespace
}  // namespace simco::net::quic
