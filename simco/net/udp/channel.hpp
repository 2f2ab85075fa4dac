// Messages to and from a peer over UDP, a datagram each. A message may be lost, arrive twice, or
// overtake another, and nothing tells that the peer is gone: the protocol above has timers for
// that.
#pragma once

#include <memory>
#include <string>

#include "simco/net/channel_state.hpp"
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

}  // namespace simco::net::udp
