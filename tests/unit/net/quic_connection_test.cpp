// Two connections without sockets and in virtual time: what is lost, late, silent or hostile.
#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <deque>
#include <map>
#include <random>

#include "simco/net/quic/connection.hpp"
#include "simco/net/quic/limits.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/octets.hpp"

namespace simco::net::quic {
namespace {

using test::Octets;
using namespace std::chrono_literals;

std::shared_ptr<const Credentials> credentials(TlsSide side) {
  static const test::Authority authority;
  static const auto middlebox = authority.issue("middlebox", "DNS:box");
  static const auto agent = authority.issue("agent");
  return *test::load_tls(side, side == TlsSide::kAgent ? agent : middlebox)->quic();
}

/// One end, whose packets wait in `out`.
class End final : public Connection::User {
 public:
  void on_id(const ConnectionId& id) override { ids.push_back(id); }
  void on_id_retired(const ConnectionId& id) override { std::erase(ids, id); }
  ResetToken reset_token(const ConnectionId& id) override { return Gate({}, {}).reset_token(id); }
  void on_input(StreamNumber stream, std::span<const std::byte> octets, bool fin) override {
    auto& input = inputs[stream];
    input.insert(input.end(), octets.begin(), octets.end());
    received += octets.size();
    unread[stream] += octets.size();
    fins += fin ? 1 : 0;
  }
  void on_output(const Connection::Way& way, std::span<const std::byte> packet) override {
    sent += packet.size();
    sent_to[way.remote] += packet.size();
    if (way.remote != elsewhere) out.emplace_back(packet.begin(), packet.end());
  }

  void send(StreamNumber stream, std::size_t size, std::byte what = std::byte{0x55}) {
    std::ranges::fill(connection->allocate(stream, size), what);
    connection->commit();
  }
  void read_all() {
    for (const auto& [stream, count] : std::exchange(unread, {})) {
      connection->consumed(stream, count);
    }
  }

  std::unique_ptr<Connection> connection;
  std::vector<ConnectionId> ids;
  std::map<StreamNumber, Octets> inputs;
  std::map<StreamNumber, std::size_t> unread;
  std::vector<Octets> out;
  std::map<Connection::Udp::endpoint, std::size_t> sent_to;  ///< octets
  Connection::Udp::endpoint elsewhere;                       ///< nobody answers from there
  std::size_t received = 0;
  std::size_t sent = 0;
  std::size_t fins = 0;
  bool reads = true;  ///< takes what comes at once
};

class QuicConnectionTest : public testing::Test {
 protected:
  static constexpr Time kDelay = 10ms;

  void call() {
    const Connection::Call box{"box"};
    Connection::User& user = agent_;
    agent_.connection =
        std::make_unique<Connection>(user, credentials(TlsSide::kAgent), options_,
                                     Connection::Way{here_, there_}, &box, nullptr, now_);
    pump(agent_);
  }
  void open() {
    call();
    ASSERT_TRUE(run_until([&] {
      return agent_.connection->up() && middlebox_.connection && middlebox_.connection->up();
    }));
  }

  /// Lets `end` write what it may, and sends it on its way.
  void pump(End& end) {
    if (!end.connection) return;
    if (end.reads) end.read_all();
    end.connection->write(now_);
    for (auto& packet : std::exchange(end.out, {})) {
      const bool from_agent = &end == &agent_;
      ++packets_;
      if (lose_(packet, from_agent)) continue;
      under_way_.push_back({now_ + kDelay, from_agent, std::move(packet)});
    }
  }
  void arrive(const Octets& packet, bool from_agent) {
    End& end = from_agent ? middlebox_ : agent_;
    if (!end.connection && from_agent) {
      const auto verdict = Gate({}, {}).judge(packet, here_, false, now_);
      const auto* welcome = std::get_if<Gate::Welcome>(&verdict);
      if (welcome == nullptr) return;
      Connection::User& user = middlebox_;
      middlebox_.connection =
          std::make_unique<Connection>(user, credentials(TlsSide::kMiddlebox), middlebox_options_,
                                       Connection::Way{there_, here_}, nullptr, welcome, now_);
    }
    if (!end.connection) return;
    end.connection->receive(
        from_agent ? Connection::Way{there_, here_} : Connection::Way{here_, there_}, packet, now_);
    pump(end);
  }
  /// False if nothing happens any more.
  bool step() {
    auto next = Time::max();
    if (!under_way_.empty()) next = under_way_.front().at;
    for (const auto* end : {&agent_, &middlebox_}) {
      if (end->connection) next = std::min(next, end->connection->expiry());
    }
    if (next == Time::max()) return false;
    now_ = std::max(now_, next);
    if (!under_way_.empty() && under_way_.front().at <= now_) {
      const auto packet = std::move(under_way_.front());
      under_way_.pop_front();
      arrive(packet.octets, packet.from_agent);
      return true;
    }
    for (auto* end : {&agent_, &middlebox_}) {
      if (!end->connection || end->connection->expiry() > now_) continue;
      end->connection->expire(now_);
      pump(*end);
    }
    return true;
  }
  bool run_until(const std::function<bool()>& done, Time limit = 60s) {
    for (const auto end = now_ + limit; !done();) {
      if (now_ > end || !step()) return false;
    }
    return true;
  }
  void run_for(Time time) {
    const auto end = now_ + time;
    run_until([&] { return now_ >= end; }, time);
  }

  struct Packet {
    Time at;
    bool from_agent;
    Octets octets;
  };
  const Connection::Udp::endpoint here_{boost::asio::ip::make_address("192.0.2.1"), 1000};
  const Connection::Udp::endpoint there_{boost::asio::ip::make_address("192.0.2.2"), 7626};
  QuicOptions options_;
  QuicOptions middlebox_options_;
  Time now_ = 1000s;
  std::deque<Packet> under_way_;
  std::size_t packets_ = 0;
  std::function<bool(const Octets& packet, bool from_agent)> lose_ = [](const auto&, bool) {
    return false;
  };
  End agent_;
  End middlebox_;
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
  // What is acknowledged takes no memory.
  ASSERT_TRUE(run_until([&] { return agent_.connection->figures().output_memory == 0; }));
}

TEST_F(QuicConnectionTest, WhatIsNotCommittedDoesNotLeave) {
  open();
  static_cast<void>(agent_.connection->allocate(0, 10));
  pump(agent_);
  run_for(1s);
  EXPECT_EQ(middlebox_.received, 0U);
  EXPECT_EQ(agent_.connection->queued(), 10U);
}

TEST_F(QuicConnectionTest, ALostPacketDelaysOnlyItsOwnStreams) {
  open();
  run_for(1s);
  bool first = true;
  lose_ = [&](const auto&, bool from_agent) { return from_agent && std::exchange(first, false); };
  agent_.send(0, 50);
  pump(agent_);
  agent_.send(1, 50);
  pump(agent_);
  ASSERT_TRUE(run_until([&] { return middlebox_.received == 50; }));
  EXPECT_EQ(middlebox_.inputs[1].size(), 50U);
  ASSERT_TRUE(run_until([&] { return middlebox_.inputs[0].size() == 50; }));
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
  agent_.connection->end(Goodbye::kOrderly, now_);
  pump(agent_);
  ASSERT_TRUE(run_until([&] { return middlebox_.connection->over().has_value(); }));
  EXPECT_FALSE(*middlebox_.connection->over());
}

TEST_F(QuicConnectionTest, ADroppedConnectionIsAReset) {
  open();
  middlebox_.connection->end(Goodbye::kDropped, now_);
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

// Someone who sees a packet sends it again in another's name (RFC 9000 9.3.1 and 9.3.2).
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

// It acknowledges packets and gives room for more, so nothing is queued; but what a stream sends is
// kept from the first octet on that has not been acknowledged.
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
  lose_ = [](const auto&, bool) { return false; };
  ASSERT_TRUE(run_until([&] { return middlebox_.received == sent; }));
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
  // What keys do not protect yet, anyone on the path can change: it may fail, but not go wrong.
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

TEST_F(QuicConnectionTest, APeerMayNotOpenMoreThanItsStreams) {
  options_.streams = 2;
  middlebox_options_.streams = 1;
  call();
  ASSERT_TRUE(run_until([&] { return agent_.connection->up(); }));
  EXPECT_EQ(agent_.connection->streams(), 1);
}

}  // namespace
}  // namespace simco::net::quic
