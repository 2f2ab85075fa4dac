// The timer of a connection, which drives what is due later.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "simco/net/quic/gate.hpp"

namespace simco::net::quic {

/// Never moved to a later time: it looks again when it expires.
class ExpiryTimer {
 public:
  explicit ExpiryTimer(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  boost::asio::any_io_executor get_executor() { return timer_.get_executor(); }
  /// Calls `act` at `due`, unless it does so earlier anyway.
  template <class Act>
  void arm(Time due, Act act) {
    if (due >= armed_) return;
    armed_ = due;
    timer_.expires_at(std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(due)));
    timer_.async_wait([act = std::move(act)](const boost::system::error_code& error) {
      if (!error) act();
    });
  }
  /// It has expired.
  void disarm() { armed_ = Time::max(); }
  void cancel() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
  Time armed_ = Time::max();
};

}  // namespace simco::net::quic
