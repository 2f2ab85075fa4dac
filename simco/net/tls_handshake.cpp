#include "simco/net/tls_handshake.hpp"

#include <sys/socket.h>

#include <array>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/limits.hpp"

namespace simco::net {

using boost::asio::ip::tcp;
using boost::system::error_code;

TlsHandshake::TlsHandshake(tcp::socket socket, std::shared_ptr<const TlsContext> context,
                           std::string name, Done done)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      context_(std::move(context)),
      name_(std::move(name)),
      done_(std::move(done)) {}

void TlsHandshake::start(std::chrono::milliseconds timeout) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->finish(boost::asio::error::timed_out);
  });
  if (context_->side() == TlsSide::kMiddlebox) return wait(tcp::socket::wait_read);
  stream_ = std::make_unique<TlsStream>(context_, socket_.native_handle(), name_);
  go_on();
}

void TlsHandshake::wait(boost::asio::socket_base::wait_type what) {
  socket_.async_wait(what, [self = shared_from_this()](const error_code& error) {
    if (!self->done_) return;
    if (error) return self->finish(error);
    self->stream_ ? self->go_on() : self->look();
  });
}

void TlsHandshake::look() {
  std::uint8_t first = 0;
  const auto got = ::recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return wait(tcp::socket::wait_read);
  if (got < 0) return finish(last_system_error());
  if (got == 0) return finish(boost::asio::error::eof);
  if (first != kTlsFirstOctet) return finish({});
  stream_ = std::make_unique<TlsStream>(context_, socket_.native_handle());
  go_on();
}

void TlsHandshake::go_on() {
  if (stream_->handshake()) return finish({});
  if (stream_->error()) return linger(stream_->error());
  wait(stream_->wants_write() ? tcp::socket::wait_write : tcp::socket::wait_read);
}

void TlsHandshake::finish(const error_code& error) {
  if (!done_) return;
  timer_.cancel();
  std::exchange(done_, nullptr)(error, std::move(socket_), std::move(stream_));
}

void TlsHandshake::linger(const error_code& error) {
  failure_ = error;
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  timer_.expires_after(kCloseTimeout);
  timer_.async_wait([self = shared_from_this()](const error_code& aborted) {
    if (!aborted) self->finish(self->failure_);
  });
  wait_for_end();
}

void TlsHandshake::wait_for_end() {
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!self->done_) return;
    std::array<char, 4096> unwanted;
    const auto got = error ? 0
                           : ::recv(self->socket_.native_handle(), unwanted.data(), unwanted.size(),
                                    MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return self->finish(self->failure_);
    self->wait_for_end();
  });
}

}  // namespace simco::net
