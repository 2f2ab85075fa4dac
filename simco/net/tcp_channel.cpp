#include "simco/net/tcp_channel.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/system_error.hpp"

namespace simco::net {
using boost::system::error_code;

TcpChannel::TcpChannel(boost::asio::ip::tcp::socket socket, ReadBuffer& read_buffer,
                       std::unique_ptr<TlsStream> tls)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      close_timer_(socket_.get_executor()),
      read_buffer_(read_buffer) {
  error_code ignored;
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  socket_.non_blocking(true, ignored);
}

void TcpChannel::start(ChannelHandler& handler) {
  SIMCO_ASSERT(handler_ == nullptr);
  handler_ = &handler;
  wait_readable();
}

void TcpChannel::detach() {
  handler_ = nullptr;
  ended({});
}

// --- The socket, or TLS over it ----------------------------------------------------------------

ssize_t TcpChannel::receive_some() {
  const auto room = std::span{read_buffer_}.first(std::min(read_max_, read_buffer_.size()));
  if (tls_) return tls_->receive(room);
  return ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
}

ssize_t TcpChannel::send_some(std::span<const std::byte> octets) {
  if (tls_) return tls_->send(octets);
  return ::send(socket_.native_handle(), octets.data(), octets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

error_code TcpChannel::last_error() const {
  return tls_ && tls_->error() ? tls_->error() : last_system_error();
}

std::optional<std::vector<std::string>> TcpChannel::certified_names() const {
  if (!tls_) return std::nullopt;
  return tls_->peer_names();
}

// --- Input -------------------------------------------------------------------------------------

void TcpChannel::wait_readable() {
  if (waiting_readable_ || !socket_.is_open()) return;
  waiting_readable_ = true;
  socket_.async_wait(boost::asio::socket_base::wait_read,
                     [self = shared_from_this()](const error_code& error) {
                       self->waiting_readable_ = false;
                       if (!error) self->on_readable();
                     });
}

void TcpChannel::on_readable() {
  if (!socket_.is_open()) return;
  if (closing_) return discard_input();
  if (paused_ || !backlog_.empty()) return;  // resume_input() comes back here
  const auto got = receive_some();
  if (got < 0 && !would_block()) return ended(last_error());
  if (got == 0) {
    // The peer is done sending, which interrupts the session (7.6); what is queued may still go
    // out.
    flush();
    return ended({});
  }
  const auto self = shared_from_this();
  if (got > 0) deliver(std::span{read_buffer_}.first(static_cast<std::size_t>(got)));
  if (!paused_) read_on();
}

void TcpChannel::read_on() {
  if (!tls_ || !socket_.is_open()) return wait_readable();
  if (tls_->wants_write() && !waiting_writable_) wait_writable();
  if (!tls_->pending()) return wait_readable();
  // What does not fit may have left the socket already.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->on_readable(); });
}

void TcpChannel::deliver(std::span<const std::byte> octets) {
  if (handler_ == nullptr || input_over_) return;
  const auto error = splitter_.feed(octets, [&](std::span<const std::byte> message) {
    const Flow flow = handler_->on_message(message, {});
    if (flow == Flow::kStop) input_over_ = true;
    if (flow == Flow::kPause) paused_ = true;
    return flow == Flow::kContinue && !input_over_;
  });
  const auto rest = octets.subspan(octets.size() - splitter_.unread());
  if (paused_ && !input_over_ && !rest.empty()) {
    backlog_ = std::vector<std::byte>(rest.begin(), rest.end());
  }
  if (error && !input_over_) {
    input_over_ = true;
    if (handler_ != nullptr) handler_->on_malformed(*error);
  }
  if (handler_ != nullptr) handler_->on_input_done(splitter_.mid_message());
}

void TcpChannel::resume_input() {
  if (!paused_) return;
  paused_ = false;
  // Never from inside a delivery or a send: the loop brings us back with a clean stack.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (!self->paused_) self->deliver_backlog();
  });
}

void TcpChannel::deliver_backlog() {
  if (!backlog_.empty()) {
    const auto octets = std::exchange(backlog_, {});
    deliver(octets);
  }
  if (!paused_) read_on();
}

// --- Output ------------------------------------------------------------------------------------

std::span<std::byte> TcpChannel::allocate(std::size_t size, Delivery, std::size_t limit) {
  if (closing_ || !socket_.is_open() || size > limit - std::min(limit, queued())) {
    return {};
  }
  const std::size_t old_size = out_.size();
  out_.resize(old_size + size);
  return std::span{out_}.subspan(old_size);
}

void TcpChannel::flush() {
  if (waiting_writable_ || !socket_.is_open()) return;
  while (queued() != 0) {
    const auto sent = send_some(std::span{out_}.subspan(out_head_));
    if (sent < 0) {
      if (would_block()) return wait_writable();
      // Reported from the loop, because the caller is in the middle of its work.
      return boost::asio::post(
          socket_.get_executor(),
          [self = shared_from_this(), error = last_error()] { self->ended(error); });
    }
    out_head_ += static_cast<std::size_t>(sent);
  }
  out_.clear();
  out_head_ = 0;
  if (out_.capacity() > kKeepOutput) out_.shrink_to_fit();
  if (closing_) half_close();
}

void TcpChannel::wait_writable() {
  waiting_writable_ = true;
  // Keeps the queue from growing by what has been sent already.
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out_head_));
  out_head_ = 0;
  socket_.async_wait(boost::asio::socket_base::wait_write,
                     [self = shared_from_this()](const error_code& error) {
                       self->waiting_writable_ = false;
                       if (!error) self->on_writable();
                     });
}

void TcpChannel::on_writable() {
  const bool had_output = queued() != 0;
  flush();
  // It may have been TLS's own output that held the input up.
  if (tls_ && !closing_) on_readable();
  if (had_output && queued() == 0 && handler_ != nullptr && !closing_) {
    handler_->on_output_drained();
  }
}

// --- The end -----------------------------------------------------------------------------------

void TcpChannel::close() {
  if (closing_ || !socket_.is_open()) return;
  closing_ = true;
  input_over_ = true;
  backlog_.clear();
  close_timer_.expires_after(kCloseTimeout);
  close_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->ended({});
  });
  flush();
}

void TcpChannel::half_close() {
  if (half_closed_) return;
  half_closed_ = true;
  error_code ignored;
  if (tls_) tls_->shutdown();
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  // Closing with unread input would reset the connection and might destroy the replies under way,
  // so wait for the peer to close, within kCloseTimeout.
  paused_ = false;
  wait_readable();
}

void TcpChannel::discard_input() {
  const auto got =
      ::recv(socket_.native_handle(), read_buffer_.data(), read_buffer_.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && !would_block())) return ended({});
  wait_readable();
}

void TcpChannel::ended(const error_code& reason) {
  const auto self = shared_from_this();
  error_code ignored;
  socket_.close(ignored);
  close_timer_.cancel();
  input_over_ = true;
  if (handler_ != nullptr) std::exchange(handler_, nullptr)->on_closed(reason);
}

std::string TcpChannel::peer_address() const {
  error_code error;
  const auto endpoint = socket_.remote_endpoint(error);
  if (error) return "unknown";
  return address_text(endpoint.address());
}

TransportStatistics TcpChannel::statistics() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  auto& socket = const_cast<boost::asio::ip::tcp::socket&>(socket_);
  if (!socket_.is_open() ||
      ::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return {};
  }
  return {{"rtt_ms", info.tcpi_rtt / 1e3},
          {"rttvar_ms", info.tcpi_rttvar / 1e3},
          {"rto_ms", info.tcpi_rto / 1e3},
          {"cwnd_segments", info.tcpi_snd_cwnd},
          {"ssthresh_segments", info.tcpi_snd_ssthresh},
          {"mss_octets", info.tcpi_snd_mss},
          {"unacked_segments", info.tcpi_unacked},
          {"lost_segments", info.tcpi_lost},
          {"retransmitted_segments", info.tcpi_total_retrans},
          {"reordering_segments", info.tcpi_reordering}};
}

}  // namespace simco::net
