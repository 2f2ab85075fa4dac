// Takes messages from the association, in pieces or whole, and gives it those that are queued. The
// end is a shutdown, or an abort after kCloseTimeout.
#include "simco/net/sctp/channel.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/sctp/limits.hpp"

namespace simco::net::sctp {

using boost::system::error_code;

Channel::Channel(std::unique_ptr<Socket> socket, ReadBuffer& read_buffer,
                 const SctpOptions& options, OnRestart on_restart)
    : socket_(std::move(socket)),
      close_timer_(socket_->get_executor()),
      read_buffer_(read_buffer),
      on_restart_(std::move(on_restart)),
      ends_(socket_->ends()),
      thin_(options.i_bit) {}

void Channel::start(ChannelHandler& handler, const Framing& framing) {
  state_.start(handler);
  messages_.emplace(framing.framer);
  message_max_ = framing.framer.size_max();
  payload_protocol_ = framing.framer.payload_protocol();
  set_hold_limit(framing.hold_limit);
  wait_readable();
}

void Channel::set_hold_limit(std::size_t octets) {
  messages_->set_hold_limit(octets);
  if (socket_ && octets >= message_max_) socket_->open_window();
}

void Channel::detach() {
  state_.detach();
  ended({});
}

// --- Input -------------------------------------------------------------------------------------

void Channel::wait_readable() {
  if (waiting_readable_ || !socket_) return;
  waiting_readable_ = true;
  socket_->wait_readable([self = shared_from_this()] {
    self->waiting_readable_ = false;
    self->on_readable();
  });
}

void Channel::on_readable() {
  if (!socket_ || state_.paused()) return;  // resume_input() comes back here
  const auto self = shared_from_this();
  std::size_t octets = 0;
  for (std::size_t i = 0; i < kReadMessages && octets < kReadSize && socket_ && !state_.paused();
       ++i) {
    const Input input = socket_->receive(read_buffer_);
    octets += input.size;
    if (!take(input)) break;
  }
  if (kept_.due()) kept_.keep(statistics());
  state_.input_done(messages_->mid_message());
  if (!state_.paused()) wait_readable();
}

bool Channel::take(const Input& input) {
  switch (input.kind) {
    case Input::Kind::kNothing: return false;
    case Input::Kind::kConnected: return true;
    case Input::Kind::kData:
      take_data(std::span{read_buffer_}.first(input.size), input);
      return true;
    case Input::Kind::kPeerShutdown:
      // The session is interrupted (7.6). The stack completes the end; we wait for that.
      shut_down_ = true;
      kept_.keep(statistics());  // before the stack forgets them
      wait_for_end();
      state_.ended({});
      return true;
    case Input::Kind::kRestart: restarted(); return false;
    case Input::Kind::kEnd:
      socket_->close();
      ended({});
      return false;
    case Input::Kind::kError: ended(input.error); return false;
  }
  return false;
}

// A user message is exactly one message (doc/rfc4540.md, reading 2).
void Channel::take_data(std::span<const std::byte> octets, const Input& input) {
  if (!state_.takes_input()) return;
  const auto error = messages_->feed(
      octets, input.complete,
      [&](std::span<const std::byte> message) { state_.deliver(message, input.delivery); });
  if (error) state_.malformed(*error);
}

void Channel::resume_input() {
  if (!state_.resume()) return;
  // Never from inside a delivery or a send: the loop brings us back with a clean stack.
  boost::asio::post(close_timer_.get_executor(), [self = shared_from_this()] {
    if (!self->state_.paused()) self->on_readable();
  });
}

// --- Output ------------------------------------------------------------------------------------

std::span<std::byte> Channel::allocate(std::size_t size, Delivery delivery, std::size_t limit) {
  if (state_.closing() || shut_down_ || !socket_) return {};
  return out_.allocate(size, delivery, limit);
}

void Channel::flush() {
  if (waiting_writable_ || shut_down_ || !socket_) return;
  while (!out_.empty()) {
    const auto message = out_.front();
    const Socket::Sending sending{.more = message.more,
                                  .payload_protocol = payload_protocol_,
                                  .i_bit = thin_.ask(message.more)};
    const auto error = socket_->send(message.octets, message.delivery, sending);
    if (error == boost::asio::error::would_block) {
      out_.compact();
      socket_->flush();
      waiting_writable_ = true;
      return socket_->wait_writable([self = shared_from_this()] {
        self->waiting_writable_ = false;
        self->flush();
        if (self->out_.empty()) self->state_.output_drained();
      });
    }
    if (error) {
      // Reported from the loop, because the caller is in the middle of its work.
      return boost::asio::post(close_timer_.get_executor(),
                               [self = shared_from_this(), error] { self->ended(error); });
    }
    out_.pop();
  }
  out_.compact();
  socket_->flush();
  if (state_.closing()) begin_shutdown();
}

// --- The end -----------------------------------------------------------------------------------

void Channel::close() {
  if (!socket_ || !state_.begin_close()) return;
  wait_for_end();
  flush();
}

/// Input is dropped from now on, and the end must come in time.
void Channel::wait_for_end() {
  state_.end_input();
  close_timer_.expires_after(kCloseTimeout);
  close_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->ended({});
  });
}

void Channel::begin_shutdown() {
  if (std::exchange(shut_down_, true)) return;
  socket_->shutdown();
  socket_->flush();
  state_.resume();
  wait_readable();  // input is dropped until the end comes
}

// The old association is over although its socket lives on: for us that is an end and a beginning.
void Channel::restarted() {
  if (!on_restart_) return ended(NetError::kAssociationRestarted);
  const auto self = shared_from_this();
  auto socket = std::exchange(socket_, nullptr);
  ended(NetError::kAssociationRestarted);
  on_restart_(std::move(socket));
}

void Channel::ended(const error_code& reason) {
  const auto self = shared_from_this();
  close_timer_.cancel();
  // Destroyed from the loop: we may have been called by it. Open associations are aborted.
  if (socket_) {
    kept_.keep(statistics());
    socket_->abort();
    boost::asio::post(close_timer_.get_executor(), [socket = std::move(socket_)] {});
  }
  state_.ended(reason);
}

TransportStatistics Channel::statistics() const {
  if (!socket_) return kept_.last();
  auto figures = socket_->statistics();  // none if the association is over
  return figures.empty() ? kept_.last() : figures;
}

}  // namespace simco::net::sctp
