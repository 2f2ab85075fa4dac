// What the streams of a connection have brought, until its user has taken it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "simco/net/channel_state.hpp"
#include "simco/net/frame_splitter.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/quic/gate.hpp"
#include "simco/net/quic/send_queue.hpp"

namespace simco::net::quic {

/// Octets in the order of their streams, delivered as messages in the order in which they came.
class StreamInputs {
 public:
  /// The peer may send so many octets more of a stream.
  using OnTaken = std::function<void(StreamNumber stream, std::size_t count)>;

  /// For so many streams of the peer.
  void open(std::uint16_t streams) { inputs_.resize(streams); }
  /// The next octets of a stream; the last ones if `fin`.
  void add(StreamNumber stream, std::span<const std::byte> octets, bool fin);
  bool waiting() const { return !waiting_.empty(); }
  /// True if so many streams have ended.
  bool ended(std::size_t streams) const { return fins_ >= streams; }

  /// From here on there is a user, who takes messages.
  void start(const Framing& framing);
  bool started() const { return framer_ != nullptr; }
  /// Returns true if the user takes messages of any length.
  bool set_hold_limit(std::size_t octets);
  /// Delivers what is waiting, until the user pauses.
  void deliver(ChannelState& user, Time now, const OnTaken& on_taken);

  void pause(Time now) { paused_at_ = now; }
  void resume(Time now);

 private:
  /// A stream that the peer sends on.
  struct Input {
    std::optional<FrameSplitter> splitter;  ///< from start() on
    std::vector<std::byte> octets;          ///< not delivered yet, from `from` on
    std::size_t from = 0;
    std::size_t held = 0;  ///< octets of an unfinished message, which count against the window
    Time heard{0};         ///< when its last octets came, and later by pauses since then
    bool waiting = false;  ///< among waiting_
    bool fin = false;      ///< nothing follows
  };

  /// Returns how many octets the user has taken.
  std::size_t deliver(StreamNumber number, ChannelState& user, Time now);
  /// As ChannelHandler::on_input_done() has it.
  std::optional<std::chrono::nanoseconds> unfinished(Time now, bool paused) const;
  static void forget_delivered(Input& input);

  const Framer* framer_ = nullptr;
  std::vector<Input> inputs_;
  std::deque<StreamNumber> waiting_;  ///< streams with input to deliver, as it came
  Time paused_at_{0};                 ///< the last time
  std::size_t mid_message_ = 0;       ///< streams that have a part of a message
  std::size_t fins_ = 0;
};

}  // namespace simco::net::quic
