// Messages over a QUIC connection: a message goes whole on one of N streams, whose order it keeps.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/channel_state.hpp"
#include "simco/net/datagram_port.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/quic/connection.hpp"
#include "simco/net/quic/gate.hpp"
#include "simco/net/quic/stream_inputs.hpp"

namespace simco::net::quic {

/// The timer of a connection. Never moved to a later time: it looks again when it expires.
class ExpiryTimer {
 public:
  explicit ExpiryTimer(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  boost::asio::any_io_executor get_executor() { return timer_.get_executor(); }
  /// Calls `act` at `due`, unless it does so earlier anyway.
  template <class Act>
  void arm(Time due, Act act) {
    if (due >= armed_) return;
    armed_ = due;
    timer_.expires_at(std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(due)));
    timer_.async_wait([act = std::move(act)](const boost::system::error_code& error) {
      if (!error) act();
    });
  }
  /// It has expired.
  void disarm() { armed_ = Time::max(); }
  void cancel() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
  Time armed_ = Time::max();
};

class Endpoint;

/// Leads its connection from the first packet on: it is given to its user when it is up.
class Channel final : public MessageChannel,
                      public std::enable_shared_from_this<Channel>,
                      private Connection::User {
 public:
  /// How the handshake ended. Called once, from the loop.
  using OnUp = std::move_only_function<void(const boost::system::error_code&)>;

  /// As Connection. Make it with std::make_shared; then call begin().
  Channel(std::shared_ptr<Endpoint> endpoint, OnUp on_up);
  ~Channel() override;
  void begin(const std::shared_ptr<const Credentials>& credentials, const QuicOptions& options,
             const Path& path, const Connection::Call* call, const Gate::Admission* admission);

  void start(ChannelHandler& handler, const Framing& framing) override;
  void detach() override;
  void reset() override;
  std::span<std::byte> allocate(std::size_t size, Delivery delivery, std::size_t limit) override;
  void flush() override;
  std::size_t queued() const override {
    return connection_ && !connection_->over() ? connection_->queued() : 0;
  }
  void pause_input() override;
  void resume_input() override;
  void set_hold_limit(std::size_t octets) override;
  void close() override;
  Transport transport() const override { return Transport::kQuic; }
  bool costly() const override { return true; }
  std::uint16_t outbound_streams() const override { return streams_; }
  std::uint16_t inbound_streams() const override { return streams_; }
  std::string peer_address() const override;
  std::string peer_endpoint() const override;
  TransportStatistics statistics() const override;
  std::optional<std::vector<std::string>> certified_names() const override { return names_; }

  // --- Called by the endpoint

  void receive(const Path& path, std::span<const std::byte> packet);
  /// After the packets of a turn: delivers their messages, and answers.
  void turn();
  /// The connection is over without a word of the peer's.
  void ended(const boost::system::error_code& reason);
  bool up() const { return connection_ != nullptr && connection_->up(); }
  /// As Connection has them.
  bool proven() const { return connection_ != nullptr ? connection_->proven() : past_.proven; }
  bool wants_proof() const { return connection_ != nullptr && connection_->wants_proof(); }
  const std::vector<ConnectionId>& ids() const { return ids_; }
  /// Packets to `id` are for this channel, too.
  void add_id(const ConnectionId& id) { on_id(id); }
  /// turn() will be called.
  bool heard() const { return heard_; }
  void mark_heard() { heard_ = true; }

 private:
  /// What is known of the connection when it is over.
  struct Past {
    TransportStatistics statistics;
    bool proven = false;
  };
  /// Ended connections, until the loop destroys them.
  struct Spent {
    std::unique_ptr<Connection> connection;
    std::shared_ptr<Endpoint> endpoint;
  };

  void on_id(const ConnectionId& id) override;
  void on_id_retired(const ConnectionId& id) override;
  ResetToken reset_token(const ConnectionId& id) override;
  void on_input(StreamNumber stream, std::span<const std::byte> octets, bool fin) override {
    inputs_.add(stream, octets, fin);
  }
  void on_output(const Connection::Way& way, std::span<const std::byte> packet) override;

  Connection::Way way_of(const Path& path) const;
  void tell_up();
  /// From the loop.
  void turn_later();
  void deliver();
  /// Sends packets that may leave now, and checks for changes.
  void write();
  void look_for_end();
  void arm();

  std::shared_ptr<Endpoint> endpoint_;  ///< null: over
  std::unique_ptr<Connection> connection_;
  OnUp on_up_;
  ExpiryTimer timer_;
  boost::asio::steady_timer close_timer_;
  ChannelState state_;
  std::vector<ConnectionId> ids_;
  StreamInputs inputs_;
  std::uint16_t streams_ = 0;
  std::optional<std::vector<std::string>> names_;
  Connection::Udp::endpoint peer_;
  Past past_;
  Spent spent_;
  bool had_to_wait_ = false;  ///< a flush() left something behind
  bool heard_ = false;        ///< the endpoint will call turn()
};

}  // namespace simco::net::quic
