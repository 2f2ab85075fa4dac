// The time of usrsctp, which cannot tell when it wants to be called next: so it is called often.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "simco/net/sctp/limits.hpp"

namespace simco::net::sctp {

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

}  // namespace simco::net::sctp
