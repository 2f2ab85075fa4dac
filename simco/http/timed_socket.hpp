// A TCP socket with a deadline, for coroutines of client and server.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <utility>

namespace simco::http {

/// Makes an awaited operation return its error and its result.
inline constexpr auto kAsTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Closes the socket at the deadline, which ends the operation that waits for it. Ends with the
/// coroutine that owns it, even if the deadline has passed in the same turn of the loop.
class TimedSocket {
 public:
  /// The deadline is `patience` from now.
  TimedSocket(boost::asio::ip::tcp::socket socket, std::chrono::nanoseconds patience)
      : state_(std::make_shared<State>(std::move(socket), patience)) {
    state_->timer.async_wait([state = state_](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      state->late = true;
      state->close();
    });
  }
  TimedSocket(const TimedSocket&) = delete;
  TimedSocket& operator=(const TimedSocket&) = delete;
  ~TimedSocket() {
    state_->timer.cancel();
    state_->close();
  }

  boost::asio::ip::tcp::socket& operator*() const { return state_->socket; }
  boost::asio::ip::tcp::socket* operator->() const { return &state_->socket; }
  /// Whether the deadline has closed it.
  bool late() const { return state_->late; }

 private:
  struct State {
    State(boost::asio::ip::tcp::socket accepted, std::chrono::nanoseconds patience)
        : socket(std::move(accepted)), timer(socket.get_executor(), patience) {}
    void close() {
      boost::system::error_code ignored;
      socket.close(ignored);
    }
    boost::asio::ip::tcp::socket socket;
    boost::asio::steady_timer timer;
    bool late = false;
  };
  std::shared_ptr<State> state_;  ///< the timer's handler needs it, too
};

}  // namespace simco::http
