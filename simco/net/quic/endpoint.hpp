// A UDP port, and the connections that share it. Packets find theirs by its identifier, so that it
// stays the same when a NAT gives the peer another address.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simco/net/crowd.hpp"
#include "simco/net/datagram_port.hpp"
#include "simco/net/quic/channel.hpp"
#include "simco/net/quic/gate.hpp"
#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

/// Peers whose handshake is under way: however many there are, a newcomer gets in. Keeps their
/// channels: until they are up, nothing else does.
class Handshakes {
 public:
  void set_max(std::size_t max) {
    max_ = std::min(max, kQuicHandshakesMax);
    crowd_ = Crowd<Channel*>(max_);
  }
  /// True if an address must first prove that packets reach it (Retry, RFC 9000 8.1.2).
  bool need_proof() const { return crowd_.size() >= max_ / kRetryFromPart; }
  /// Returns the channel that must go instead, if any: it stays here until take().
  std::shared_ptr<Channel> enter(const IpAddress& address, const std::shared_ptr<Channel>& guest) {
    guests_.emplace(guest.get(), guest);
    const auto last = crowd_.enter(address, guest.get());
    const auto found = last ? guests_.find(*last) : guests_.end();
    return found == guests_.end() ? nullptr : found->second;
  }
  /// The guest leaves. Returns nullptr if it was none.
  std::shared_ptr<Channel> take(Channel& channel) {
    crowd_.leave(&channel);
    auto guest = guests_.extract(&channel);
    return guest ? std::move(guest.mapped()) : nullptr;
  }
  /// Its connection is over; decided() will say so.
  void leave(Channel& channel) { crowd_.leave(&channel); }
  /// All of them go.
  void clear() {
    for (const auto& [channel, guest] : std::exchange(guests_, {})) crowd_.leave(channel);
  }

 private:
  std::map<Channel*, std::shared_ptr<Channel>> guests_;
  std::size_t max_ = kQuicHandshakesMax;
  Crowd<Channel*> crowd_{kQuicHandshakesMax};
};

/// The repeated answer to peers whose connection has ended here and that may not know it (RFC 9000
/// 10.2). Bounded in time and number; no I/O and no clock.
class ClosedConnections {
 public:
  /// From `now` on, for kClosedTime, packets to `ids` are answered with `packet`, or not at all
  /// if that is empty. The oldest goes if there are more than kClosedMax.
  void keep(const std::vector<ConnectionId>& ids, std::vector<std::byte> packet, Time now);
  /// Returns true if a packet to `id` belongs to a connection that has ended.
  bool knows(std::string_view id, Time now);
  /// Returns the answer to a packet of `size` octets to `id`, which knows() has confirmed: empty if
  /// it gets none. The 1st, 2nd, 4th, ... packet gets one (10.2.1), and never more than three times
  /// its size, because its sender may have forged the address.
  std::span<const std::byte> answer(std::string_view id, std::size_t size);

 private:
  struct Closed {
    std::vector<ConnectionId> ids;
    std::vector<std::byte> packet;
    Time until;
    std::uint64_t heard = 0;  ///< packets
  };

  void forget_oldest();

  std::deque<Closed> closed_;  ///< the oldest first
  std::map<ConnectionId, Closed*, std::less<>> by_id_;
};

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
