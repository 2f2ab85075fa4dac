#include "simco/net/sctp/channel.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/wire/codec.hpp"

namespace simco::net::sctp {

using boost::system::error_code;

Channel::Channel(std::unique_ptr<Socket> socket, ReadBuffer& read_buffer,
                 const SctpOptions& options, OnRestart on_restart)
    : socket_(std::move(socket)),
      executor_(socket_->get_executor()),
      close_timer_(executor_),
      read_buffer_(read_buffer),
      on_restart_(std::move(on_restart)),
      outbound_streams_(socket_->outbound_streams()),
      inbound_streams_(socket_->inbound_streams()),
      peer_address_(socket_->peer_address()),
      use_i_bit_(options.i_bit) {}

void Channel::start(ChannelHandler& handler) {
  SIMCO_ASSERT(handler_ == nullptr);
  handler_ = &handler;
  set_hold_limit(hold_limit_);
  wait_readable();
}

void Channel::set_hold_limit(std::size_t octets) {
  hold_limit_ = octets;
  if (socket_ && octets >= kMessageSizeMax) socket_->open_window();
}

void Channel::detach() {
  handler_ = nullptr;
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
  if (!socket_ || paused_) return;  // resume_input() comes back here
  const auto self = shared_from_this();
  std::size_t octets = 0;
  for (std::size_t i = 0; i < kReadMessages && octets < kReadSize && socket_ && !paused_; ++i) {
    const Input input = socket_->receive(read_buffer_);
    octets += input.size;
    if (!take(input)) break;
  }
  if (handler_ != nullptr) handler_->on_input_done(received_ != 0);
  if (!paused_) wait_readable();
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
      wait_for_end();
      if (handler_ != nullptr) std::exchange(handler_, nullptr)->on_closed({});
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

void Channel::take_data(std::span<const std::byte> octets, const Input& input) {
  if (handler_ == nullptr || input_over_) return;
  if (input.complete && received_ == 0) return deliver(octets, octets.size(), input.delivery);
  received_ += octets.size();
  const std::size_t room = hold_limit_ - std::min(hold_limit_, held_.size());
  const auto kept = octets.first(std::min(room, octets.size()));
  held_.insert(held_.end(), kept.begin(), kept.end());
  if (received_ > kMessageSizeMax) return malformed(DecodeError::kImpossibleLength);
  if (!input.complete) return;
  const auto message = std::exchange(held_, {});
  deliver(message, std::exchange(received_, 0), input.delivery);
}

// Section 6 step 1 over SCTP (doc/rfc4540.md, reading 2): a user message is exactly one message.
void Channel::deliver(std::span<const std::byte> held, std::size_t size, Delivery delivery) {
  if (held.size() < kHeaderSize) return malformed(DecodeError::kTruncated);
  const Header header = read_header(held.first<kHeaderSize>());
  if (const auto error = check_header(header)) return malformed(*error);
  const std::size_t wanted = kHeaderSize + header.length;
  if (wanted > size) return malformed(DecodeError::kTruncated);
  if (wanted < size) return malformed(DecodeError::kLengthMismatch);
  const Flow flow = handler_->on_message(held, delivery);
  if (flow == Flow::kStop) input_over_ = true;
  if (flow == Flow::kPause) paused_ = true;
}

void Channel::malformed(DecodeError error) {
  input_over_ = true;
  received_ = 0;
  held_ = {};
  handler_->on_malformed(error);
}

void Channel::resume_input() {
  if (!paused_) return;
  paused_ = false;
  // Never from inside a delivery or a send: the loop brings us back with a clean stack.
  boost::asio::post(executor_, [self = shared_from_this()] {
    if (!self->paused_) self->on_readable();
  });
}

// --- Output ------------------------------------------------------------------------------------

std::span<std::byte> Channel::allocate(std::size_t size, Delivery delivery, std::size_t limit) {
  if (closing_ || shut_down_ || !socket_ || size > limit - std::min(limit, queued())) {
    return {};
  }
  messages_.push_back({size, delivery});
  const std::size_t old_size = out_.size();
  out_.resize(old_size + size);
  return std::span{out_}.subspan(old_size);
}

// In a fast flow every second packet has its SACK at once anyway; in a thin one the peer would wait
// for another that does not come.
Socket::Sending Channel::sending(bool more) {
  if (!use_i_bit_ || more) return {.more = more};
  const auto now = std::chrono::steady_clock::now();
  const auto gap = now - std::exchange(last_sent_, now);
  return {.i_bit = gap >= kSctpThinFlowGap};
}

void Channel::flush() {
  if (waiting_writable_ || shut_down_ || !socket_) return;
  while (messages_head_ < messages_.size()) {
    const auto [size, delivery] = messages_[messages_head_];
    const bool more = messages_head_ + 1 < messages_.size();
    const auto error =
        socket_->send(std::span{out_}.subspan(out_head_, size), delivery, sending(more));
    if (error == boost::asio::error::would_block) {
      compact();
      socket_->flush();
      waiting_writable_ = true;
      return socket_->wait_writable([self = shared_from_this()] {
        self->waiting_writable_ = false;
        self->flush();
        if (self->queued() == 0 && self->handler_ != nullptr && !self->closing_) {
          self->handler_->on_output_drained();
        }
      });
    }
    if (error) {
      // Reported from the loop, because the caller is in the middle of its work.
      return boost::asio::post(executor_,
                               [self = shared_from_this(), error] { self->ended(error); });
    }
    out_head_ += size;
    ++messages_head_;
  }
  compact();
  socket_->flush();
  if (closing_) begin_shutdown();
}

// Keeps the queue from growing by what has been sent already.
void Channel::compact() {
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out_head_));
  messages_.erase(messages_.begin(),
                  messages_.begin() + static_cast<std::ptrdiff_t>(messages_head_));
  out_head_ = 0;
  messages_head_ = 0;
  if (out_.empty() && out_.capacity() > kKeepOutput) {
    out_.shrink_to_fit();
    messages_.shrink_to_fit();
  }
}

// --- The end -----------------------------------------------------------------------------------

void Channel::close() {
  if (closing_ || !socket_) return;
  closing_ = true;
  wait_for_end();
  flush();
}

/// Input is dropped from now on, and the end must come in time.
void Channel::wait_for_end() {
  input_over_ = true;
  close_timer_.expires_after(kCloseTimeout);
  close_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->ended({});
  });
}

void Channel::begin_shutdown() {
  if (std::exchange(shut_down_, true)) return;
  socket_->shutdown();
  socket_->flush();
  paused_ = false;
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
  input_over_ = true;
  // Destroyed from the loop: we may have been called by it. What has not ended is aborted.
  if (socket_) {
    socket_->abort();
    boost::asio::post(executor_, [socket = std::move(socket_)] {});
  }
  if (handler_ != nullptr) std::exchange(handler_, nullptr)->on_closed(reason);
}

TransportStatistics Channel::statistics() const {
  return socket_ ? socket_->statistics() : TransportStatistics{};
}

}  // namespace simco::net::sctp
