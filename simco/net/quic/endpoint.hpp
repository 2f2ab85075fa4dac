// A UDP port, and the connections that share it. Packets find theirs by its identifier, so that it
// stays the same when a NAT gives the peer another address.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simco/net/datagram_port.hpp"
#include "simco/net/quic/channel.hpp"
#include "simco/net/quic/closed_connections.hpp"
#include "simco/net/quic/gate.hpp"
#include "simco/net/quic/handshakes.hpp"

namespace simco::net::quic {

/// Belongs to one event loop. Lives as long as a listener or a channel uses it.
class Endpoint final : public std::enable_shared_from_this<Endpoint>, private DatagramPort::User {
 public:
  /// The callback for connections that others begin.
  struct Audience {
    std::function<void(std::shared_ptr<MessageChannel>)> on_accept;
    /// A handshake with that address has failed.
    std::function<void(const std::string&, const boost::system::error_code&)> on_refused;
    std::size_t
        handshakes_max;  ///< at a time; with more, the source with the most loses its oldest
  };

  /// Binds to `local` (which may be unspecified) and `port` (0: any). Throws
  /// boost::system::system_error. Make it with std::make_shared; then call listen() or connect().
  Endpoint(const boost::asio::any_io_executor& executor, const boost::asio::ip::address& local,
           std::uint16_t port, const QuicOptions& options,
           std::shared_ptr<const Credentials> credentials, bool listens);
  ~Endpoint();

  void listen(Audience audience);
  /// Hears no further peers; connections that are up continue.
  void stop_listening();
  /// For connections that begin from now on.
  void set_credentials(std::shared_ptr<const Credentials> credentials);
  /// Begins a connection to `path`; `name` as in Connection::Call.
  std::shared_ptr<Channel> connect(const Path& path, const std::string& name, Channel::OnUp on_up);

  const boost::asio::any_io_executor& get_executor() const { return executor_; }
  /// The time that connections are told.
  static Time now();
  const boost::asio::ip::address& local() const { return port_->local(); }
  std::uint16_t local_port() const { return local_port_; }

  // --- Called by channels

  void add(const ConnectionId& id, Channel& channel) { channels_.insert_or_assign(id, &channel); }
  void remove(const ConnectionId& id, Channel& channel);
  ResetToken reset_token(const ConnectionId& id) const { return gate_.reset_token(id); }
  void send(const Path& path, std::span<const std::byte> packet);
  /// Sent packets leave at the end of a turn at the latest.
  void flush();
  /// `closing_packet` as Connection::closing_packet().
  void leave(Channel& channel, const std::optional<std::vector<std::byte>>& closing_packet);

 private:
  void on_packet(DatagramPort& port, const Path& path, std::span<const std::byte> packet) override;
  void on_unreachable(DatagramPort& port, const Path& path) override;
  void on_batch_done() override;
  void judge(const Path& path, std::span<const std::byte> packet);
  void answer(const Path& path, const Gate::Verdict& verdict);
  void begin(const Path& path, std::span<const std::byte> packet, const Gate::Admission& admission);
  void decided(Channel& channel, const boost::system::error_code& error);
  void hear(Channel& channel);

  boost::asio::any_io_executor executor_;
  QuicOptions options_;
  std::shared_ptr<const Credentials> credentials_;
  Gate gate_;
  ClosedConnections closed_;
  std::shared_ptr<const Audience> audience_;  ///< null: none
  const bool serves_;  ///< a listener's: answers packets of no connection, even when it has stopped
  bool listens_;
  bool in_turn_ = false;  ///< packets are being handed out: on_batch_done() flushes at its end
  DatagramBatch batch_;
  std::shared_ptr<DatagramPort> port_;
  std::uint16_t local_port_;
  std::map<ConnectionId, Channel*, std::less<>> channels_;
  Handshakes handshakes_;
  std::vector<std::weak_ptr<Channel>> heard_;  ///< in this turn
};

}  // namespace simco::net::quic
