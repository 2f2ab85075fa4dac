// Messages over an SCTP association, whichever stack it lives in: one message per user
// message, ordered in its stream. Any payload protocol identifier is taken.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "simco/net/channel_state.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/output_queue.hpp"
#include "simco/net/read_buffer.hpp"
#include "simco/net/sctp/kept_statistics.hpp"
#include "simco/net/sctp/socket.hpp"
#include "simco/net/sctp/thin_flow.hpp"
#include "simco/net/transport.hpp"
#include "simco/net/user_message.hpp"

namespace simco::net::sctp {

class Channel final : public MessageChannel, public std::enable_shared_from_this<Channel> {
 public:
  /// Receives the association after its peer has restarted it.
  using OnRestart = std::function<void(std::unique_ptr<Socket>)>;

  /// Takes an association that is up; of `options` only those about messages count. Without
  /// `on_restart` a restart ends it. Make it with std::make_shared.
  Channel(std::unique_ptr<Socket> socket, ReadBuffer& read_buffer, const SctpOptions& options,
          OnRestart on_restart = {});

  void start(ChannelHandler& handler, const Framing& framing) override;
  void detach() override;
  std::span<std::byte> allocate(std::size_t size, Delivery delivery, std::size_t limit) override;
  void flush() override;
  std::size_t queued() const override { return out_.size(); }
  void pause_input() override { state_.pause(); }
  void resume_input() override;
  void set_hold_limit(std::size_t octets) override;
  void close() override;
  Transport transport() const override { return Transport::kSctp; }
  bool costly() const override { return true; }
  std::uint16_t outbound_streams() const override { return ends_.outbound_streams; }
  std::uint16_t inbound_streams() const override { return ends_.inbound_streams; }
  std::string peer_address() const override { return ends_.peer_address; }
  std::string peer_endpoint() const override { return ends_.peer_endpoint; }
  TransportStatistics statistics() const override;

 private:
  /// What the two ends have agreed on, which outlives the association.
  struct Ends {
    std::uint16_t outbound_streams;
    std::uint16_t inbound_streams;
    std::string peer_address;
    std::string peer_endpoint;
  };

  void wait_readable();
  void on_readable();
  /// Handles `input`. Returns false if there is nothing more to read.
  bool take(const Input& input);
  void take_data(std::span<const std::byte> octets, const Input& input);
  void begin_shutdown();
  void wait_for_end();
  void restarted();
  void ended(const boost::system::error_code& reason);

  std::unique_ptr<Socket> socket_;  ///< null: over
  boost::asio::steady_timer close_timer_;
  ReadBuffer& read_buffer_;
  OnRestart on_restart_;
  ChannelState state_;
  const Ends ends_;
  std::optional<UserMessageReader> messages_;  ///< from start() on
  std::size_t message_max_ = kUserMessageMax;
  std::uint32_t payload_protocol_ = 0;
  OutputQueue out_{OutputQueue::Boundaries::kKeep};
  ThinFlow thin_;
  KeptStatistics kept_;
  bool waiting_readable_ = false;
  bool waiting_writable_ = false;
  bool shut_down_ = false;  ///< the shutdown has been requested by either side
};

}  // namespace simco::net::sctp
