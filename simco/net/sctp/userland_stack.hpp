// usrsctp on an event loop: packets in and out, timers, and notifications.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simco/net/datagram_port.hpp"
#include "simco/net/sctp/cookie_guard.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/userland_peers.hpp"

namespace simco::net::sctp {

/// The time of usrsctp, which cannot tell when it wants to be called next: so it is called often.
/// Ticks while it is wanted: often when there is traffic, seldom when there is none.
class UserlandTicker {
 public:
  /// How many milliseconds have passed since the last tick. Returns true if there must be another.
  using OnTick = std::function<bool(std::uint32_t elapsed_ms)>;

  UserlandTicker(const boost::asio::any_io_executor& executor, OnTick on_tick)
      : timer_(executor), on_tick_(std::move(on_tick)) {}

  void start() {
    if (std::exchange(ticking_, true)) return;
    ticked_at_ = Clock::now();
    wait();
  }
  /// No further tick: traffic of a shutdown must not arm the timer of a loop that ends.
  void stop() { ticking_ = false; }
  void note_traffic() {
    const auto now = Clock::now();
    const bool was_idle = now >= busy_until_;
    busy_until_ = now + kUserlandIdleAfter;
    if (was_idle && ticking_) wait();  // sooner than it was to be
  }

 private:
  using Clock = std::chrono::steady_clock;

  void wait() {
    timer_.expires_after(Clock::now() < busy_until_ ? kUserlandTick : kUserlandIdleTick);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) tick();
    });
  }
  void tick() {
    const auto elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - ticked_at_);
    ticked_at_ += elapsed;
    ticking_ = on_tick_(static_cast<std::uint32_t>(elapsed.count()));
    if (ticking_) wait();
  }

  boost::asio::steady_timer timer_;
  OnTick on_tick_;
  Clock::time_point ticked_at_;
  Clock::time_point busy_until_;
  bool ticking_ = false;
};

class UserlandSocket;
class UserlandListener;

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

  UserlandPeers& peers() { return peers_; }

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
  void shutdown() override;  // of the service
  void on_packet(DatagramPort& port, const Path& path, std::span<const std::byte> packet) override;
  void on_unreachable(DatagramPort& port, const Path& path) override;
  void on_batch_done() override;

  static int output(void* address, void* packet, std::size_t size, std::uint8_t tos,
                    std::uint8_t set_df);
  void send(std::uint16_t number, std::span<const std::byte> packet);
  void run_ready();
  void end_turn();
  void post_turn();
  bool wanted() const { return !sockets_.empty() || !listeners_.empty(); }
  bool on_tick(std::uint32_t elapsed_ms);

  std::optional<boost::asio::any_io_executor> executor_;
  std::optional<UserlandTicker> ticker_;
  DatagramBatch batch_;
  CookieGuard cookies_;
  /// For IPv4 and IPv6, over UDP and over IP.
  std::map<std::pair<bool, bool>, std::weak_ptr<DatagramPort>> client_ports_;
  std::vector<std::shared_ptr<DatagramPort>> unflushed_;
  UserlandPeers peers_;
  std::unordered_map<std::uint16_t, std::size_t> sctp_ports_;
  std::vector<UserlandSocket*> sockets_;
  std::vector<UserlandSocket*> ready_;
  std::vector<UserlandSocket*> running_;  ///< those of ready_ whose turn it is
  std::vector<UserlandListener*> listeners_;
  bool in_turn_ = false;
  bool turn_posted_ = false;
};

}  // namespace simco::net::sctp
