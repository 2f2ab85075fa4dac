// Reads and writes the socket, or TLS over it, when it is ready; input that arrives while the user
// has paused it waits in the splitter. The end is a half-close that waits for the peer's.
#include "simco/net/tcp_channel.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/error.hpp"

namespace simco::net {
using boost::system::error_code;

namespace {

tcp_info information(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info;
}

/// Whether something is on its way to the peer and nothing has come back for so long.
/// TCP_USER_TIMEOUT would also end the connection to a peer whose window has been full that long.
/// Its answers to probes may be late (net.ipv4.tcp_invalid_ratelimit), but precede the second.
bool silent(int socket, std::chrono::milliseconds longest) {
  const auto info = information(socket);
  const bool waits = info.tcpi_unacked > 0 || info.tcpi_probes > 1;
  return waits && std::chrono::milliseconds(info.tcpi_last_ack_recv) >= longest;
}

}  // namespace

TcpChannel::TcpChannel(boost::asio::ip::tcp::socket socket, ReadBuffer& read_buffer,
                       std::unique_ptr<TlsStream> tls)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      close_timer_(socket_.get_executor()),
      silence_timer_(socket_.get_executor()),
      read_buffer_(read_buffer) {
  error_code ignored;
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  socket_.non_blocking(true, ignored);
}

void TcpChannel::start(ChannelHandler& handler, const Framing& framing) {
  state_.start(handler);
  splitter_.emplace(framing.framer);
  set_hold_limit(framing.hold_limit);
  wait_readable();
}

void TcpChannel::set_hold_limit(std::size_t octets) {
  splitter_->set_hold_limit(octets);
  read_max_ = octets;
}

void TcpChannel::detach() {
  state_.detach();
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
  if (state_.closing()) return discard_input();
  if (state_.paused() || !backlog_.empty()) return;  // resume_input() comes back here
  const auto got = receive_some();
  if (got < 0 && !would_block()) return ended(last_error());
  if (got == 0) {
    // The peer is done sending, which interrupts the session (7.6); queued messages may still go
    // out.
    flush();
    return ended({});
  }
  const auto self = shared_from_this();
  if (got > 0) {
    const auto octets = std::span{read_buffer_}.first(static_cast<std::size_t>(got));
    const auto rest = octets.last(deliver(octets));
    backlog_ = std::vector<std::byte>(rest.begin(), rest.end());
    backlog_from_ = 0;
  }
  if (!state_.paused()) read_on();
}

void TcpChannel::read_on() {
  if (!tls_ || !socket_.is_open()) return wait_readable();
  if (tls_->wants_write() && !waiting_writable_) wait_writable();
  if (!tls_->pending()) return wait_readable();
  // Octets beyond the room may have left the socket already.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->on_readable(); });
}

std::size_t TcpChannel::deliver(std::span<const std::byte> octets) {
  if (!state_.takes_input()) return 0;
  const auto error = splitter_->feed(
      octets, [&](std::span<const std::byte> message) { return state_.deliver(message, {}); });
  const auto rest = state_.takes_input() ? splitter_->unread() : 0;
  if (error) state_.malformed(*error);
  state_.input_done(splitter_->mid_message());
  return state_.takes_input() ? rest : 0;
}

void TcpChannel::resume_input() {
  if (!state_.resume()) return;
  // Never from inside a delivery or a send: the loop brings us back with a clean stack.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (!self->state_.paused()) self->deliver_backlog();
  });
}

void TcpChannel::deliver_backlog() {
  if (!backlog_.empty()) {
    auto octets = std::exchange(backlog_, {});
    const auto rest = deliver(std::span(octets).subspan(backlog_from_));
    if (rest != 0) {
      backlog_from_ = octets.size() - rest;
      backlog_ = std::move(octets);
    }
  }
  if (!state_.paused()) read_on();
}

// --- Output ------------------------------------------------------------------------------------

std::span<std::byte> TcpChannel::allocate(std::size_t size, Delivery delivery, std::size_t limit) {
  if (state_.closing() || !socket_.is_open()) return {};
  return out_.allocate(size, delivery, limit);
}

void TcpChannel::flush() {
  if (waiting_writable_ || !socket_.is_open()) return;
  while (!out_.empty()) {
    const auto sent = send_some(out_.octets());
    if (sent < 0) {
      if (would_block()) return wait_writable();
      // Reported from the loop, because the caller is in the middle of its work.
      return boost::asio::post(
          socket_.get_executor(),
          [self = shared_from_this(), error = last_error()] { self->ended(error); });
    }
    out_.take(static_cast<std::size_t>(sent));
  }
  out_.compact();
  if (state_.closing()) half_close();
}

void TcpChannel::wait_writable() {
  waiting_writable_ = true;
  out_.compact();
  socket_.async_wait(boost::asio::socket_base::wait_write,
                     [self = shared_from_this()](const error_code& error) {
                       self->waiting_writable_ = false;
                       if (!error) self->on_writable();
                     });
}

void TcpChannel::on_writable() {
  const bool had_output = !out_.empty();
  flush();
  // It may have been TLS's own output that held the input up.
  if (tls_ && !state_.closing()) on_readable();
  if (had_output && out_.empty()) state_.output_drained();
}

// --- The end -----------------------------------------------------------------------------------

void TcpChannel::close() {
  if (!socket_.is_open() || !state_.begin_close()) return;
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
  state_.resume();
  wait_readable();
}

void TcpChannel::discard_input() {
  const auto got =
      ::recv(socket_.native_handle(), read_buffer_.data(), read_buffer_.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && !would_block())) return ended({});
  wait_readable();
}

void TcpChannel::end_on_silence(std::chrono::milliseconds longest) {
  for (const int option : {TCP_KEEPIDLE, TCP_KEEPINTVL}) {
    const int seconds = static_cast<int>(kIdleProbe.count());
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, option, &seconds, sizeof seconds);
  }
  look_for_silence(longest);
}

void TcpChannel::look_for_silence(std::chrono::milliseconds longest) {
  silence_timer_.expires_after(kIdleProbe);
  silence_timer_.async_wait([weak = weak_from_this(), longest](const error_code& error) {
    const auto self = weak.lock();
    if (error || !self || !self->socket_.is_open()) return;
    if (silent(self->socket_.native_handle(), longest)) {
      return self->ended(boost::asio::error::timed_out);
    }
    self->look_for_silence(longest);
  });
}

void TcpChannel::ended(const error_code& reason) {
  const auto self = shared_from_this();
  error_code ignored;
  if (socket_.is_open()) last_statistics_ = statistics();
  socket_.close(ignored);
  close_timer_.cancel();
  silence_timer_.cancel();
  state_.ended(reason);
}

std::string TcpChannel::peer_address() const {
  error_code error;
  const auto endpoint = socket_.remote_endpoint(error);
  if (error) return "unknown";
  return address_text(endpoint.address());
}

std::string TcpChannel::peer_endpoint() const {
  error_code error;
  const auto endpoint = socket_.remote_endpoint(error);
  if (error) return "unknown";
  return endpoint_text(address_text(endpoint.address()), endpoint.port());
}

TransportStatistics TcpChannel::statistics() const {
  if (!socket_.is_open()) return last_statistics_;
  const auto info = information(const_cast<boost::asio::ip::tcp::socket&>(socket_).native_handle());
  const auto number = [](std::uint32_t value) { return static_cast<double>(value); };
  return {{"rtt_ms", info.tcpi_rtt / 1e3},
          {"rttvar_ms", info.tcpi_rttvar / 1e3},
          {"rto_ms", info.tcpi_rto / 1e3},
          {"cwnd_segments", number(info.tcpi_snd_cwnd)},
          {"ssthresh_segments", number(info.tcpi_snd_ssthresh)},
          {"mss_octets", number(info.tcpi_snd_mss)},
          {"unacked_segments", number(info.tcpi_unacked)},
          {"lost_segments", number(info.tcpi_lost)},
          {"retransmitted_segments", number(info.tcpi_total_retrans), true},
          {"reordering_segments", number(info.tcpi_reordering)}};
}

}  // namespace simco::net
