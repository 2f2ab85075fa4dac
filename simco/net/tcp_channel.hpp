// Messages over a TCP connection.
//
// Waits for readiness and reads and writes the socket itself, so that one read buffer serves all
// connections of a loop (ten thousand idle connections need no buffer) and all replies of a turn
// leave in one write.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simco/net/channel_state.hpp"
#include "simco/net/frame_splitter.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/output_queue.hpp"
#include "simco/net/tls.hpp"

namespace simco::net {

class TcpChannel final : public MessageChannel, public std::enable_shared_from_this<TcpChannel> {
 public:
  /// Takes a connected socket, with TLS over it or not; sets TCP_NODELAY and SO_KEEPALIVE. Make it
  /// with std::make_shared.
  TcpChannel(boost::asio::ip::tcp::socket socket, ReadBuffer& read_buffer,
             std::unique_ptr<TlsStream> tls = nullptr);

  /// From now on the connection is lost when the peer has acknowledged nothing for `longest`, also
  /// while it is idle. A peer that acknowledges and only does not read is not lost.
  void end_on_silence(std::chrono::milliseconds longest);

  void start(ChannelHandler& handler, const Framing& framing) override;
  void detach() override;
  std::span<std::byte> allocate(std::size_t size, Delivery delivery, std::size_t limit) override;
  void flush() override;
  std::size_t queued() const override { return out_.size(); }
  void pause_input() override { state_.pause(); }
  void resume_input() override;
  void set_hold_limit(std::size_t octets) override;
  void close() override;
  Transport transport() const override { return Transport::kTcp; }
  std::uint16_t outbound_streams() const override { return 1; }
  std::uint16_t inbound_streams() const override { return 1; }
  std::string peer_address() const override;
  std::string peer_endpoint() const override;
  TransportStatistics statistics() const override;
  std::optional<std::vector<std::string>> certified_names() const override;

 private:
  // As recv() and send() would answer.
  ssize_t receive_some();
  ssize_t send_some(std::span<const std::byte> octets);
  boost::system::error_code last_error() const;
  void wait_readable();
  void wait_writable();
  void on_readable();
  /// Waits for more input, or goes on with buffered input.
  void read_on();
  void on_writable();
  /// Returns how many octets at the end are left, because the input has been paused.
  std::size_t deliver(std::span<const std::byte> octets);
  /// Delivers the octets read before the pause, then reads on.
  void deliver_backlog();
  void discard_input();
  void half_close();
  void look_for_silence(std::chrono::milliseconds longest);
  void ended(const boost::system::error_code& reason);

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;
  boost::asio::steady_timer close_timer_;
  boost::asio::steady_timer silence_timer_;
  ReadBuffer& read_buffer_;
  ChannelState state_;
  std::optional<FrameSplitter> splitter_;  ///< from start() on
  std::size_t read_max_ = kReadSize;       ///< octets at a time, and so of the backlog
  /// Read, but not delivered because input is paused: from `backlog_from_` on.
  std::vector<std::byte> backlog_;
  std::size_t backlog_from_ = 0;
  OutputQueue out_{OutputQueue::Boundaries::kForget};
  TransportStatistics last_statistics_;  ///< when the connection is over
  bool waiting_readable_ = false;
  bool waiting_writable_ = false;
  bool half_closed_ = false;
};

}  // namespace simco::net
