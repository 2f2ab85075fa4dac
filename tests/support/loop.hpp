// An event loop that a test runs until something has happened.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <chrono>

namespace simco::test {

class Loop {
 public:
  boost::asio::io_context& io() { return io_; }

  /// Runs the loop until `done` or for `limit`; answers whether it was done.
  template <class Done>
  bool run_until(Done done, std::chrono::seconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  /// Long enough for anything to show that should not happen.
  void run_for_a_while(std::chrono::milliseconds time = std::chrono::milliseconds(200)) {
    io_.restart();
    io_.run_for(time);
  }

 private:
  boost::asio::io_context io_;
};

/// A UDP port of the loopback address that nobody uses at the moment.
inline std::uint16_t free_udp_port() {
  boost::asio::io_context io;
  const boost::asio::ip::udp::socket socket(io, {boost::asio::ip::address_v4::loopback(), 0});
  return socket.local_endpoint().port();
}

}  // namespace simco::test
