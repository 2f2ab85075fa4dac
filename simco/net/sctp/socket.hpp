// An SCTP association of either stack, with the calls that sctp::Channel needs. The two stacks'
// headers define the same names with other values, so each stays behind this interface in files of
// its own.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "simco/net/message_channel.hpp"

namespace simco::net::sctp {

/// The result of a read from an association.
struct Input {
  enum class Kind : std::uint8_t {
    kNothing,       ///< nothing at the moment
    kData,          ///< a user message or a piece of it
    kConnected,     ///< the association is up
    kPeerShutdown,  ///< the peer shuts down; nothing more can be sent
    kRestart,       ///< the peer has restarted the same association
    kEnd,           ///< ended in an orderly way
    kError,         ///< ended otherwise; `error` says how
  };
  Kind kind = Kind::kNothing;
  std::size_t size = 0;   ///< octets of data
  bool complete = false;  ///< they are the last of their message
  Delivery delivery;
  boost::system::error_code error;

  Input() = default;
  explicit Input(Kind what) : kind(what) {}
  explicit Input(const boost::system::error_code& why) : kind(Kind::kError), error(why) {}
};

/// What the two ends have agreed on, and who the peer is.
struct Ends {
  std::uint16_t outbound_streams;  ///< at least 1
  std::uint16_t inbound_streams;   ///< at least 1
  std::string peer_address;        ///< the primary one, without port
  std::string peer_endpoint;       ///< the same with the peer's SCTP port
};

/// Belongs to one event loop. Destroying it aborts the association if it is still there.
class Socket {
 public:
  using Ready = std::move_only_function<void()>;

  Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  virtual ~Socket() = default;

  virtual boost::asio::any_io_executor get_executor() = 0;

  /// Reads the next piece. Pieces of different messages never mix. `buffer` has kUserMessageMax.
  virtual Input receive(std::span<std::byte> buffer) = 0;
  /// How a message is sent.
  struct Sending {
    bool more = false;  ///< others follow at once: it may wait for them to share a packet
    std::uint32_t payload_protocol = 0;
    bool i_bit = false;  ///< asks for an immediate SACK (RFC 7053)
  };
  /// Sends one message. Returns asio::error::would_block if it does not fit.
  virtual boost::system::error_code send(std::span<const std::byte> message, Delivery delivery,
                                         Sending sending) = 0;
  /// All messages of this turn have been sent.
  virtual void flush() = 0;

  /// Calls `ready` once, from the loop, when receive() or send() may bring something. Dropped by
  /// close() and abort().
  virtual void wait_readable(Ready ready) = 0;
  virtual void wait_writable(Ready ready) = 0;

  /// Until this is called, an accepted association may have less room for its peer's messages than
  /// the options say (kUserlandSctpGuestBuffer).
  virtual void open_window() {}

  /// Begins an orderly end: queued messages are delivered first. receive() reports when it is over.
  virtual void shutdown() = 0;
  /// Releases an association that has ended.
  virtual void close() = 0;
  /// Ends it at once with an ABORT.
  virtual void abort() = 0;

  virtual Ends ends() const = 0;
  virtual TransportStatistics statistics() const = 0;
};

}  // namespace simco::net::sctp
