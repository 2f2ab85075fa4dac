#include "simco/net/tcp_connector.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>

namespace simco::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using Done = std::function<void(const error_code&, std::shared_ptr<MessageChannel>)>;

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(const boost::asio::any_io_executor& executor, ReadBuffer& read_buffer, Done done)
      : resolver_(executor),
        socket_(executor),
        timer_(executor),
        read_buffer_(read_buffer),
        done_(std::move(done)) {}

  void start(const HostPort& target, std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->finish(boost::asio::error::timed_out);
    });
    resolver_.async_resolve(target.host, std::to_string(target.port),
                            [self = shared_from_this()](const error_code& error, auto results) {
                              if (error) return self->finish(error);
                              self->connect(results);
                            });
  }

 private:
  void connect(const tcp::resolver::results_type& endpoints) {
    if (!done_) return;
    boost::asio::async_connect(
        socket_, endpoints,
        [self = shared_from_this()](const error_code& error, const tcp::endpoint&) {
          self->finish(error);
        });
  }

  void finish(const error_code& error) {
    if (!done_) return;
    const auto done = std::exchange(done_, nullptr);
    timer_.cancel();
    resolver_.cancel();
    if (!error) return done({}, std::make_shared<TcpChannel>(std::move(socket_), read_buffer_));
    error_code ignored;
    socket_.close(ignored);
    done(error, nullptr);
  }

  tcp::resolver resolver_;
  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  ReadBuffer& read_buffer_;
  Done done_;
};

}  // namespace

void connect_tcp(const boost::asio::any_io_executor& executor, const HostPort& target,
                 std::chrono::milliseconds timeout, ReadBuffer& read_buffer, Done done) {
  std::make_shared<Attempt>(executor, read_buffer, std::move(done))->start(target, timeout);
}

}  // namespace simco::net
