// usrsctp on an event loop: packets in and out, timers, and notifications.
//
// usrsctp knows our peers by SCTP ports and an AF_CONN "address", a pointer that it never follows.
// Every address has to be registered, is searched for in a list with each packet, and cannot be
// given back without usrsctp's own thread. So few of them serve all: two peers need different ones
// only where their ports are the same. An INIT leaves nothing here: the address comes back with the
// COOKIE ECHO, and only an association that is up keeps its path.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "simco/net/datagram_port.hpp"
#include "simco/net/sctp/cookie_guard.hpp"

namespace simco::net::sctp {

class UserlandSocket;
class UserlandListener;

/// A peer as usrsctp sees it.
struct PeerId {
  std::uint16_t number = 0;  ///< as AF_CONN address: address_of()
  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  friend bool operator==(const PeerId&, const PeerId&) = default;
};

/// The AF_CONN address of number `number`, and back.
void* address_of(std::uint16_t number);
std::uint16_t number_of(const void* address);

class UserlandStack final : public boost::asio::execution_context::service,
                            private DatagramPort::User {
 public:
  using key_type = UserlandStack;
  static boost::asio::execution_context::id id;

  /// Use of().
  explicit UserlandStack(boost::asio::execution_context& context);
  ~UserlandStack() override;

  /// The stack of this executor; NetError::kOtherEventLoop where another one has it.
  static std::expected<UserlandStack*, boost::system::error_code> of(
      const boost::asio::any_io_executor& executor);

  const boost::asio::any_io_executor& executor() const { return *executor_; }

  /// Opens a port to listen behind; throws boost::system::system_error.
  std::shared_ptr<DatagramPort> open_port(const DatagramPort::Options& options);
  /// The port from which agents of this process reach `remote`; throws likewise.
  std::shared_ptr<DatagramPort> client_port(const boost::asio::ip::address& remote, bool over_ip);

  /// The peer at the end of `path` with these SCTP ports, kept until release() has been called as
  /// often as both hold(). Nothing where kUserlandNumbersMax others have the same ports.
  std::optional<PeerId> hold(const std::shared_ptr<DatagramPort>& port, const Path& path,
                             std::uint16_t local_port, std::uint16_t remote_port);
  void hold(PeerId peer) { ++peers_.at(peer).holders; }
  void release(PeerId peer);
  bool knows(PeerId peer) const { return peers_.contains(peer); }
  const Path& path(PeerId peer) const { return peers_.at(peer).path; }
  /// Data chunks sent again to that peer.
  std::uint64_t retransmissions(PeerId peer) const;

  /// Over IP, packets to other SCTP ports than these are not ours.
  void add_sctp_port(std::uint16_t port) { ++sctp_ports_[port]; }
  void remove_sctp_port(std::uint16_t port);

  void add(UserlandSocket& socket);
  void remove(UserlandSocket& socket);
  void add(UserlandListener& listener);
  void remove(UserlandListener& listener) { std::erase(listeners_, &listener); }

  /// `socket` has something for its user, which gets it in this turn of the loop or the next.
  void make_ready(UserlandSocket& socket);
  /// Hands sent packets to the network, unless the turn goes on and will do so at its end.
  void flush();

 private:
  struct Peer {
    std::shared_ptr<DatagramPort> port;
    Path path;
    std::size_t holders = 0;
    std::uint32_t tag = 0;  ///< that its packets carry; 0: not known yet
    bool has_sent = false;
    std::uint32_t highest_tsn = 0;
    std::uint64_t retransmissions = 0;
  };
  struct Key {
    const DatagramPort* port;
    Path path;
    std::uint16_t local_port;
    std::uint16_t remote_port;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
    std::size_t operator()(PeerId peer) const;
  };

  void shutdown() override;  // of the service
  void on_packet(DatagramPort& port, const Path& path, std::span<const std::byte> packet) override;
  void on_unreachable(DatagramPort& port, const Path& path) override;
  void on_batch_done() override;

  static int output(void* address, void* packet, std::size_t size, std::uint8_t tos,
                    std::uint8_t set_df);
  void send(std::uint16_t number, std::span<const std::byte> packet);
  /// The peer that now comes on `path`, if its packet proves that it is one we know.
  std::optional<PeerId> find_moved(DatagramPort& port, const Path& path, std::uint16_t local_port,
                                   std::uint16_t remote_port, std::uint32_t tag);
  void run_ready();
  void end_turn();
  void post_turn();
  void arm_timer();
  void wait_for_tick();
  void on_tick();
  void note_traffic();

  std::optional<boost::asio::any_io_executor> executor_;
  std::optional<boost::asio::steady_timer> timer_;
  std::chrono::steady_clock::time_point ticked_at_;
  std::chrono::steady_clock::time_point busy_until_;
  DatagramBatch batch_;
  CookieGuard cookies_;
  /// For IPv4 and IPv6, over UDP and over IP.
  std::map<std::pair<bool, bool>, std::weak_ptr<DatagramPort>> client_ports_;
  std::vector<std::shared_ptr<DatagramPort>> unflushed_;
  std::unordered_map<PeerId, Peer, Hash> peers_;
  std::unordered_map<Key, PeerId, Hash> ids_;
  std::unordered_map<std::uint16_t, std::size_t> sctp_ports_;
  std::vector<UserlandSocket*> sockets_;
  std::vector<UserlandSocket*> ready_;
  std::vector<UserlandSocket*> running_;  ///< those of ready_ whose turn it is
  std::vector<UserlandListener*> listeners_;
  bool in_turn_ = false;
  bool turn_posted_ = false;
  bool ticking_ = false;
};

}  // namespace simco::net::sctp
