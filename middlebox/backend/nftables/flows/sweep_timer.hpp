// When the next sweep of the connection tracking table begins: not so often that a long table takes
// all time.
#pragma once

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "middlebox/backend/nftables/limits.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::nftables {

class SweepTimer {
 public:
  explicit SweepTimer(boost::asio::io_context& io) : timer_(io) {}

  /// Calls `sweep` after kSweepInterval, or as soon as possible if `soon`; in any case after a
  /// pause that is long beside the last sweep.
  template <class Sweep>
  void arm(bool soon, Sweep sweep) {
    if (armed_ && (!soon || soon_)) return;
    armed_ = true;
    soon_ = soon;
    const auto pause = kSweepPause * took_;
    timer_.expires_after(soon ? pause : std::max<std::chrono::nanoseconds>(kSweepInterval, pause));
    timer_.async_wait([this, sweep = std::move(sweep)](const boost::system::error_code& error) {
      if (error) return;
      armed_ = false;
      sweep();
    });
  }
  void begin(Instant now) { began_ = now; }
  void end(Instant now) { took_ = now - began_; }

 private:
  boost::asio::steady_timer timer_;
  bool armed_ = false;
  bool soon_ = false;  ///< armed for as soon as possible
  Instant began_{};
  std::chrono::nanoseconds took_{};
};

}  // namespace simco::backend::nftables
