// One connection of the load generator, whatever it speaks over it.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstdint>
#include <memory>
#include <optional>

#include "simco/net/message_channel.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::loadgen {

class Client {
 public:
  /// Called from the loop, never from inside a call to the client.
  class Observer {
   public:
    /// Transactions can be sent.
    virtual void on_ready(Client& client) = 0;
    /// The reply to the transaction that send() started; `refused`: a negative one.
    virtual void on_reply(Client& client, TransactionId tid,
                          std::optional<NegativeReplyCode> refused) = 0;
    /// The replies of one read are handed out, or the output queue has emptied.
    virtual void on_turn(Client& client) = 0;
    /// The connection is over; the last call. No error: finish() brought it about.
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
  /// Queues transaction number `index`. Returns nothing when it cannot be sent at all any more.
  virtual std::optional<Sent> send(std::uint64_t index) = 0;
  virtual void flush() = 0;
  /// No room for another transaction right now.
  virtual bool full() const = 0;
  /// Octets queued and not taken by the transport.
  virtual std::size_t queued() const = 0;
  /// Ends the session in an orderly way.
  virtual void finish() = 0;
  /// Null before on_ready().
  virtual const net::MessageChannel* channel() const = 0;
  /// Rules deleted again to keep the number of live ones down, and deletions that were refused.
  virtual std::uint64_t deleted() const { return 0; }
  virtual std::uint64_t deletions_refused() const { return 0; }
};

}  // namespace simco::loadgen
