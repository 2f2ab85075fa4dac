// What the middlebox tells the service manager that started it (systemd's sd_notify(3) protocol):
// that it is ready, reloads, stops, and that it is alive. Without a service manager, nothing.
//
// The protocol is a few words in a datagram; linking libsystemd for it would bring five further
// libraries into a process that faces the network.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace simco::middlebox {

class ServiceManager {
 public:
  /// Takes $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID as the process was started with them.
  explicit ServiceManager(boost::asio::io_context& io);
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;
  ~ServiceManager();

  /// It serves now, or again. `status`: one line for people.
  void ready(std::string_view status);
  void reloading();
  void stopping();

  /// From now on says twice in each watchdog interval that the process is alive, from its loop and
  /// only if `alive` answers true. Nothing where no watchdog was asked for.
  void watch(std::function<bool()> alive);

  /// How often the service manager wants to hear from us, if it does.
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
