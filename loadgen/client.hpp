// One connection of the load generator, for any workload.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstdint>
#include <memory>
#include <optional>

#include "simco/net/message_channel.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::loadgen {

/// A connection that sends transactions. Belongs to one event loop.
class Client {
 public:
  /// Called from the loop, never from inside a call to the client.
  class Observer {
   public:
    /// The connection is ready: transactions can be sent.
    virtual void on_ready(Client& client) = 0;
    /// The reply to the transaction that send() started; `refused`: a negative one.
    virtual void on_reply(Client& client, TransactionId tid,
                          std::optional<NegativeReplyCode> refused) = 0;
    /// All replies of one read have been delivered, or the output queue has drained.
    virtual void on_turn(Client& client) = 0;
    /// The connection has ended; the last call. Without an error if finish() ended it.
    virtual void on_down(Client& client, const boost::system::error_code& reason) = 0;

   protected:
    ~Observer() = default;
  };

  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  virtual void open() = 0;
  /// How a transaction was sent.
  struct Sent {
    TransactionId tid;       ///< Observer::on_reply() will name it
    net::StreamId stream{};  ///< that its request takes
  };
  /// Queues transaction number `index`. Returns nullopt if no further transaction can ever be sent.
  virtual std::optional<Sent> send(std::uint64_t index) = 0;
  virtual void flush() = 0;
  /// True if another transaction does not fit at the moment.
  virtual bool full() const = 0;
  /// Returns the octets that are queued and not yet accepted by the transport.
  virtual std::size_t queued() const = 0;
  /// Ends the session in order.
  virtual void finish() = 0;
  /// Returns null before on_ready().
  virtual const net::MessageChannel* channel() const = 0;
  /// Return the number of rules deleted to limit the live ones, and of refused deletions.
  virtual std::uint64_t deleted() const { return 0; }
  virtual std::uint64_t deletions_refused() const { return 0; }
};

}  // namespace simco::loadgen
