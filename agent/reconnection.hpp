// When a lost session is opened again: pauses between attempts, and reports to the caller.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <random>
#include <utility>

#include "agent/options.hpp"
#include "simco/session/backoff.hpp"

namespace simco::agent {

/// Used on its executor only.
class Reconnection {
 public:
  explicit Reconnection(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  /// From now on a lost session is opened again; nullopt: no longer.
  void set(std::optional<Reconnect> policy);
  bool enabled() const { return policy_.has_value(); }
  /// Whether there is no session, and another one will be opened.
  bool under_way() const { return under_way_; }

  void start() { under_way_ = true; }
  /// After start(): there is no session, for this reason. Calls `attempt` after a pause.
  void retry(const boost::system::error_code& reason, std::function<void()> attempt);
  /// A session is open.
  void succeed();
  void stop();

 private:
  void report(const boost::system::error_code& reason);

  boost::asio::steady_timer timer_;
  std::optional<Reconnect> policy_;
  std::optional<Backoff> backoff_;
  std::minstd_rand random_{std::random_device{}()};
  bool under_way_ = false;
};

}  // namespace simco::agent
