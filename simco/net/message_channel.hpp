// A connection (TCP) or association (SCTP) that carries messages, whose boundaries a Framer finds.
// Code above sees only this interface.
//
// A channel belongs to one event loop; every call and every callback is made on its thread.
#pragma once

#include <array>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/framer.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/transport.hpp"
#include "simco/wire/ids.hpp"

namespace simco::net {

/// The buffer that the channels of an event loop share for reading.
using ReadBuffer = std::array<std::byte, kReadSize>;
static_assert(kReadSize >= kUserMessageMax, "a user message of SCTP is read in one piece");

/// A figure of the transport, such as {"rtt_ms", 0.08}.
struct TransportFigure {
  std::string name;  ///< ends in the unit
  double value = 0;
  /// A count since the connection was opened, which can be summed over connections; otherwise a
  /// state, which can be averaged.
  bool total = false;
};
using TransportStatistics = std::vector<TransportFigure>;

/// Stream of a transport that has several (SCTP). TCP has only stream 0.
using StreamId = StrongId<struct StreamIdTag, std::uint16_t>;

/// How a message travels.
struct Delivery {
  StreamId stream{};       ///< 0 over TCP
  bool unordered = false;  ///< may overtake others of its stream (SCTP's U bit, RFC 9260 6.6)
};

/// Which messages a channel reads.
struct Framing {
  const Framer& framer;  ///< tells them apart; must outlive the channel
  /// Longest part of an unfinished message to keep, octets, see FrameSplitter.
  std::size_t hold_limit = kUserMessageMax;
};

/// Whether the receiver of a message wants the next.
enum class Flow : std::uint8_t {
  kContinue,  ///< yes
  kPause,     ///< not before resume_input(); nothing is lost
  kStop,      ///< never again; further input is dropped
};

/// Receives messages and the state of a channel.
class ChannelHandler {
 public:
  /// A whole message; valid only during the call. If it has fewer octets than the framer says, it
  /// was longer than the hold limit and has been cut.
  virtual Flow on_message(std::span<const std::byte> message, Delivery delivery) = 0;
  /// The peer has broken the framing; no further input will be delivered.
  virtual void on_malformed(FramingError error) = 0;
  /// The messages of one read were delivered: a good moment to act on all of them and to flush().
  /// `unfinished`: the longest time that a partly received message has been without further octets;
  /// 0 over transports with one stream.
  virtual void on_input_done(std::optional<std::chrono::nanoseconds> unfinished) = 0;
  /// The output queue has emptied after it had to wait for the peer.
  virtual void on_output_drained() = 0;
  /// The connection is over; the last call. No error: either side closed it in an orderly way.
  virtual void on_closed(const boost::system::error_code& reason) = 0;

 protected:
  ~ChannelHandler() = default;
};

class MessageChannel {
 public:
  MessageChannel() = default;
  MessageChannel(const MessageChannel&) = delete;
  MessageChannel& operator=(const MessageChannel&) = delete;
  virtual ~MessageChannel() = default;

  /// Begins to read. `handler` must exist until on_closed() or detach().
  virtual void start(ChannelHandler& handler, const Framing& framing) = 0;
  /// Ends all callbacks, and resets the connection if it is still up. After close() it may go on by
  /// itself until its output has been delivered, for kCloseTimeout at most.
  virtual void detach() = 0;
  /// As detach(), and at once: queued messages are lost, and the connection takes no more memory.
  virtual void reset() { detach(); }

  /// Returns room for a message of `size` octets at the end of the output queue, which must be
  /// filled before the next call. Returns an empty span if more than `limit` octets would be
  /// queued, or if the connection is closing.
  virtual std::span<std::byte> allocate(std::size_t size, Delivery delivery,
                                        std::size_t limit = kOutputQueueMax) = 0;
  /// Passes queued output to the transport, as much as it accepts.
  virtual void flush() = 0;
  /// Returns the number of octets that the transport has not accepted yet.
  virtual std::size_t queued() const = 0;

  /// Stops or resumes the delivery of messages.
  virtual void pause_input() = 0;
  virtual void resume_input() = 0;
  /// Changes Framing::hold_limit. After start().
  virtual void set_hold_limit(std::size_t octets) = 0;

  /// Delivers queued messages, then closes; input is dropped from now on.
  virtual void close() = 0;

  virtual Transport transport() const = 0;
  /// True if the connection has buffers of its own in this process, so that fewer may be open.
  virtual bool costly() const { return false; }
  /// Streams negotiated for each direction; 1 over TCP.
  virtual std::uint16_t outbound_streams() const = 0;
  virtual std::uint16_t inbound_streams() const = 0;
  /// Address of the peer, without port, as text.
  virtual std::string peer_address() const = 0;
  /// The same with the peer's port, where the transport knows it: for the log.
  virtual std::string peer_endpoint() const { return peer_address(); }
  /// Returns the transport's counts; after the end of the connection, its last.
  virtual TransportStatistics statistics() const = 0;
  /// Returns the names in the peer's verified certificate; nullopt without TLS.
  virtual std::optional<std::vector<std::string>> certified_names() const { return std::nullopt; }
};

}  // namespace simco::net
