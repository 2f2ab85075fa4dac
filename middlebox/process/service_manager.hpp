// Notifies the service manager that started the middlebox (systemd's sd_notify(3) protocol) when it
// is ready, reloads or stops, and that it is alive. Does nothing without a service manager.
//
// The protocol is a few words in a datagram; linking libsystemd would add five further libraries to
// a process that faces the network.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "middlebox/limits.hpp"

namespace simco::middlebox {

/// The connection to the service manager. For the loop's thread.
class ServiceManager {
 public:
  /// Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID.
  explicit ServiceManager(boost::asio::io_context& io);
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;
  ~ServiceManager();

  /// The middlebox serves, after the start or a reload. `status`: one line for people.
  void ready(std::string_view status);
  void reloading();
  void stopping();

  /// From now on notifies kBeatsPerInterval times in each watchdog interval that the process is
  /// alive, from its loop and only if `alive` returns true. Does nothing if no watchdog was
  /// requested.
  void watch(std::function<bool()> alive);

  /// Returns the time between two notifications of life in a watchdog interval of `interval`. A
  /// process that gets no processor for the rest of it is not taken for dead.
  static constexpr std::chrono::microseconds pause_in(std::chrono::microseconds interval) {
    return interval / kBeatsPerInterval;
  }
  /// Returns the watchdog interval, if a watchdog was requested.
  std::optional<std::chrono::microseconds> watchdog_interval() const { return interval_; }

 private:
  void tell(std::string_view text) const;
  void beat();

  int socket_ = -1;
  std::string address_;
  std::optional<std::chrono::microseconds> interval_;
  boost::asio::steady_timer timer_;
  std::function<bool()> alive_;
};

}  // namespace simco::middlebox
