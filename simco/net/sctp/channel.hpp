// Messages over an SCTP association, whichever stack it lives in: one message per user
// message, ordered in its stream. Any payload protocol identifier is taken.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "simco/net/channel_state.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/output_queue.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/socket.hpp"
#include "simco/net/transport.hpp"
#include "simco/net/user_message.hpp"

namespace simco::net::sctp {

/// The figures of an association that a peer or a timer may abort, and that takes them with it.
class KeptStatistics {
 public:
  const TransportStatistics& last() const { return last_; }
  void keep(TransportStatistics statistics) { last_ = std::move(statistics); }
  /// True if they are too old, once every kSctpStatisticsAge.
  bool due() {
    const auto now = std::chrono::steady_clock::now();
    if (!last_.empty() && now - kept_at_ < kSctpStatisticsAge) return false;
    kept_at_ = now;
    return true;
  }

 private:
  TransportStatistics last_;
  std::chrono::steady_clock::time_point kept_at_;
};

/// Decides which messages ask for their SACK at once (the I bit, RFC 7053): a peer delays the SACK
/// of a packet until a second one comes, which in a thin flow does not.
class ThinFlow {
 public:
  explicit ThinFlow(bool asks) : asks_(asks) {}

  /// In a fast flow every second packet has its SACK at once anyway. `more`: others follow now.
  bool ask(bool more) {
    if (!asks_ || more) return false;
    const auto now = std::chrono::steady_clock::now();
    return now - std::exchange(last_sent_, now) >= kSctpThinFlowGap;
  }

 private:
  bool asks_;
  std::chrono::steady_clock::time_point last_sent_;
};

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
  const Ends ends_;                            ///< which outlive the association
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
