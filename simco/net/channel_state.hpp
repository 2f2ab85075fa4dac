// A channel's user, and how far the two have come: whether input is paused or over, whether the
// channel is closing. The same for every transport; no I/O.
#pragma once

#include <span>
#include <utility>

#include "simco/net/message_channel.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net {

class ChannelState {
 public:
  /// `handler` hears from now on.
  void start(ChannelHandler& handler) {
    SIMCO_ASSERT(handler_ == nullptr);
    handler_ = &handler;
  }
  /// The handler gets no further calls.
  void detach() { handler_ = nullptr; }

  // --- Input

  /// True if input is delivered: there is a handler, and the input has not ended. It may be paused.
  bool takes_input() const { return handler_ != nullptr && !input_over_; }
  bool paused() const { return paused_; }
  void pause() { paused_ = true; }
  /// Returns whether it was paused.
  bool resume() { return std::exchange(paused_, false); }

  /// Hands a message on; takes_input() must be true. Returns whether another may follow now.
  bool deliver(std::span<const std::byte> message, Delivery delivery) {
    const Flow flow = handler_->on_message(message, delivery);
    if (flow == Flow::kStop) input_over_ = true;
    if (flow == Flow::kPause) paused_ = true;
    return takes_input() && !paused_;
  }
  /// Nothing more can be delivered.
  void malformed(FramingError error) {
    if (std::exchange(input_over_, true) || handler_ == nullptr) return;
    handler_->on_malformed(error);
  }
  void input_done(std::optional<std::chrono::nanoseconds> unfinished) {
    if (handler_ != nullptr) handler_->on_input_done(unfinished);
  }
  /// For a transport with one stream, whose last octets have come now.
  void input_done(bool mid_message) {
    input_done(mid_message ? std::optional(std::chrono::nanoseconds(0)) : std::nullopt);
  }

  // --- Output

  /// The queue has emptied after it had to wait.
  void output_drained() {
    if (handler_ != nullptr && !closing_) handler_->on_output_drained();
  }

  // --- The end

  /// Nothing more may be queued: queued messages are delivered, then the channel ends.
  bool closing() const { return closing_; }
  /// Returns false if it was closing already.
  bool begin_close() {
    if (std::exchange(closing_, true)) return false;
    input_over_ = true;
    return true;
  }
  /// Further input is dropped.
  void end_input() { input_over_ = true; }
  /// The connection is over; its user is told, once.
  void ended(const boost::system::error_code& reason) {
    input_over_ = true;
    if (handler_ != nullptr) std::exchange(handler_, nullptr)->on_closed(reason);
  }

 private:
  ChannelHandler* handler_ = nullptr;
  bool paused_ = false;
  bool input_over_ = false;  ///< nothing more is delivered: closing, malformed or stopped
  bool closing_ = false;
};

}  // namespace simco::net
