// Two connections without sockets and in virtual time, whose packets a test may lose, delay, change
// and forge.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/quic/connection.hpp"
#include "simco/net/quic/limits.hpp"
#include "simco/net/quic/ngtcp2.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/octets.hpp"

namespace simco::net::quic {

using test::Octets;
using namespace std::chrono_literals;

inline std::shared_ptr<const Credentials> credentials(TlsSide side) {
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
  bool reads = true;  ///< takes messages at once
};

class QuicTwoEnds : public testing::Test {
 protected:
  static constexpr Time kDelay = 10ms;
  /// The pause after a packet, where there always is one.
  static constexpr Time kPause = kAlwaysPaces ? 2ms : 0ms;

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

  /// Lets `end` write, and sends its packets on their way.
  void pump(End& end) {
    if (!end.connection) return;
    if (end.reads) end.read_all();
    now_ += kPause;
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
      const auto* admission = std::get_if<Gate::Admission>(&verdict);
      if (admission == nullptr) return;
      Connection::User& user = middlebox_;
      middlebox_.connection =
          std::make_unique<Connection>(user, credentials(TlsSide::kMiddlebox), middlebox_options_,
                                       Connection::Way{there_, here_}, nullptr, admission, now_);
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

}  // namespace simco::net::quic
