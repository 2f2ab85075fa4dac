// An event loop that a test runs until something has happened.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>

#include "tests/support/patience.hpp"

namespace simco::test {

class Loop {
 public:
  boost::asio::io_context& io() { return io_; }

  /// Runs the loop until `done`. Returns false if that does not come within `limit`.
  template <class Done>
  bool run_until(Done done, std::chrono::milliseconds limit = kPatience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      io_.restart();
      io_.run_one_for(kLook);
    }
    return true;
  }
  /// Long enough for most things to show that must not happen.
  void watch(std::chrono::milliseconds time = kWatch) {
    io_.restart();
    io_.run_for(time);
  }

 private:
  boost::asio::io_context io_;
};

/// Runs `io` until it has nothing to do.
inline void run_to_the_end(boost::asio::io_context& io) {
  io.restart();
  io.run_for(kPatience);
}

}  // namespace simco::test
