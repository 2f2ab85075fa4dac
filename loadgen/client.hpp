// A connection of the load generator, for any workload.
#pragma once

#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "simco/net/endpoint.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/transport.hpp"
#include "simco/wire/ids.hpp"

namespace simco::loadgen {

/// Identifies a transaction among those of its connection. The workload chooses it.
using TransactionKey = StrongId<struct TransactionKeyTag, std::uint64_t>;
/// The workload's code for why a transaction was refused; Workload::describe() explains it.
using RefusalCode = StrongId<struct RefusalCodeTag>;

/// How a transaction ended.
enum class Outcome : std::uint8_t {
  kCompleted,   ///< positive reply, or none was wanted
  kRefused,     ///< negative reply
  kTimedOut,    ///< no reply in time
  kUnanswered,  ///< the run was over first
};

/// The outcome of a transaction, as its client tells it.
struct Ending {
  Outcome outcome = Outcome::kCompleted;
  std::optional<RefusalCode> code = {};  ///< with kRefused
};

/// The part of the command line that concerns every client, for any workload.
struct ConnectionOptions {
  net::HostPort target;
  std::chrono::milliseconds timeout{60'000};
  net::TransportOptions transport = {};
  bool unordered = false;         ///< SCTP: unordered delivery, even within a stream
  std::uint32_t connections = 1;  ///< of the run, which share sums that are limited
  std::uint64_t seed = 1;         ///< of the run
  bool reconnect = false;         ///< a lost connection is opened again
};

/// Transactions that a client makes by itself, beside those of the schedule.
struct Housekeeping {
  std::uint64_t done = 0;
  std::uint64_t refused = 0;
};

/// Something that a client counts beside its transactions, such as messages that it sent again.
struct Tally {
  const char* name;  ///< of a member of the JSON document
  std::uint64_t count = 0;
};

/// A connection that sends transactions. Belongs to one event loop.
class Client {
 public:
  /// Called from the loop, never from inside a call to the client.
  class Observer {
   public:
    /// The connection is ready: transactions can be sent.
    virtual void on_ready(Client& client) = 0;
    /// The transaction that send() started is over: it was answered, or the protocol has given up
    /// waiting (kTimedOut).
    virtual void on_ended(Client& client, TransactionKey key, Ending ending) = 0;
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
    TransactionKey key;      ///< Observer::on_ended() will name it
    net::StreamId stream{};  ///< that its request takes
  };
  /// Queues transaction number `index`. Returns nullopt if no further transaction can ever be sent.
  virtual std::optional<Sent> send(std::uint64_t index) = 0;
  /// The generator no longer waits for this transaction: a late reply may still come.
  virtual void forget(TransactionKey) {}
  virtual void flush() = 0;
  /// True if another transaction does not fit at the moment.
  virtual bool full() const = 0;
  /// Returns the octets that are queued and not yet accepted by the transport.
  virtual std::size_t queued() const = 0;
  /// Ends the session in order.
  virtual void finish() = 0;
  /// Returns null before on_ready().
  virtual const net::MessageChannel* channel() const = 0;
  virtual Housekeeping housekeeping() const { return {}; }
  /// Always the same names in the same order.
  virtual std::vector<Tally> tallies() const { return {}; }
};

}  // namespace simco::loadgen
