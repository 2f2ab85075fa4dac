// Messages to and from a peer over UDP, a datagram each. A message may be lost, arrive twice, or
// overtake another, and nothing tells that the peer is gone: the protocol above has timers for
// that.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "simco/net/channel_state.hpp"
#include "simco/net/crowd.hpp"
#include "simco/net/datagram_port.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/output_queue.hpp"

namespace simco::net::udp {

class Socket;

class Channel final : public MessageChannel, public std::enable_shared_from_this<Channel> {
 public:
  /// Sends to `path` through `socket`, which hands on messages from there. Make it with
  /// Socket::connect().
  Channel(std::shared_ptr<Socket> socket, Path path);
  ~Channel() override;

  void start(ChannelHandler& handler, const Framing& framing) override;
  void detach() override;
  std::span<std::byte> allocate(std::size_t size, Delivery delivery, std::size_t limit) override;
  void flush() override;
  std::size_t queued() const override;
  /// Datagrams that arrive while the input is paused are lost.
  void pause_input() override { state_.pause(); }
  void resume_input() override { state_.resume(); }
  void set_hold_limit(std::size_t) override {}  // a datagram is never unfinished
  void close() override;
  Transport transport() const override { return Transport::kUdp; }
  std::uint16_t outbound_streams() const override { return 1; }
  std::uint16_t inbound_streams() const override { return 1; }
  std::string peer_address() const override;
  std::string peer_endpoint() const override;
  TransportStatistics statistics() const override;

  // --- Called by the socket

  const Path& path() const { return path_; }
  /// A datagram from the peer. A useless datagram is counted and dropped.
  void receive(std::span<const std::byte> datagram);
  /// The datagrams of this turn have been handed on.
  void input_done() { state_.input_done(false); }
  /// The socket has taken everything after it took nothing for a while.
  void drained() { state_.output_drained(); }
  /// The connection is over.
  void ended(const boost::system::error_code& reason);

 private:
  std::shared_ptr<Socket> socket_;  ///< null: over
  Path path_;
  boost::asio::any_io_executor executor_;
  ChannelState state_;
  const Framer* framer_ = nullptr;  ///< from start() on
  OutputQueue out_{OutputQueue::Boundaries::kKeep};
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t unwanted_ = 0;
};

/// A UDP socket, and the channels that share it: one for each peer. Belongs to one event loop.
/// Lives as long as a listener or a channel uses it.
class Socket final : public std::enable_shared_from_this<Socket>, private DatagramPort::User {
 public:
  /// Receives a channel for a peer that has not been heard before.
  using OnPeer = std::function<void(std::shared_ptr<Channel>)>;

  /// Binds to `local` (which may be unspecified) and `port` (0: any). Without `on_peer`, only the
  /// peers of connect() are heard, and an ICMP error ends their channels. Throws
  /// boost::system::system_error. Make it with std::make_shared; then call start().
  Socket(const boost::asio::any_io_executor& executor, const boost::asio::ip::address& local,
         std::uint16_t port, OnPeer on_peer);
  ~Socket();

  void start() { port_->start(); }
  /// Hears no further peers; channels continue.
  void stop_listening() { on_peer_ = nullptr; }

  /// Returns a channel to that peer.
  std::shared_ptr<Channel> connect(const Path& path);

  const boost::asio::any_io_executor& get_executor() const { return executor_; }
  const boost::asio::ip::address& local() const { return port_->local(); }
  std::uint16_t local_port() { return port_->local_port(); }

  // --- Called by channels

  void send(const Path& path, std::span<const std::byte> datagram) { port_->send(path, datagram); }
  void flush() { port_->flush(); }
  std::size_t queued() const { return port_->queued(); }
  void leave(Channel& channel);

 private:
  struct Before {
    bool operator()(const Path& a, const Path& b) const {
      return std::tie(a.remote, a.remote_port, a.local) <
             std::tie(b.remote, b.remote_port, b.local);
    }
  };

  void on_packet(DatagramPort& port, const Path& path, std::span<const std::byte> packet) override;
  void on_unreachable(DatagramPort& port, const Path& path) override;
  void on_batch_done() override;
  void on_drained(DatagramPort& port) override;
  /// Returns the channel of that peer; null if it has none and may have none.
  std::shared_ptr<Channel> channel_of(const Path& path);

  boost::asio::any_io_executor executor_;
  OnPeer on_peer_;
  DatagramBatch batch_;
  std::shared_ptr<DatagramPort> port_;
  std::map<Path, Channel*, Before> channels_;
  Crowd<Channel*> crowd_;
  std::vector<std::weak_ptr<Channel>> heard_;  ///< in this turn
};

}  // namespace simco::net::udp
