// The INVITE client transactions of a connection (RFC 3261 17.1.1.2), as far as the measurement of
// their responses goes: Timers A and B. No I/O, no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "loadgen/sip/limits.hpp"

namespace simco::loadgen::sip {

using Time = std::chrono::steady_clock::time_point;

/// Transactions by the number of their call.
class ClientTransactions {
 public:
  /// `reliable`: the transport loses nothing, so that Timer A does not run.
  ClientTransactions(std::chrono::milliseconds t1, bool reliable) : t1_(t1), reliable_(reliable) {}

  /// The INVITE of call `number` has been sent for the first time. Starts Timers A and B.
  void start(std::uint32_t number, Time now);
  /// A provisional response: the INVITE is not sent again, and Timer B stops (state Proceeding).
  /// Returns false if there is no such transaction.
  bool proceed(std::uint32_t number);
  /// The transaction is over. Returns false if there is no such transaction.
  bool end(std::uint32_t number);

  /// The due actions.
  struct Due {
    std::uint32_t number;
    /// Timer B: the transaction is over. Otherwise Timer A: its INVITE must be sent once more.
    bool timed_out;
  };
  /// Returns something that is due at `now`, once; to be called until it returns nothing.
  std::optional<Due> take_due(Time now);
  /// Returns when something will be due.
  std::optional<Time> next() const;

  std::size_t size() const { return open_.size(); }
  /// INVITEs sent again, and of them those of transactions that needed it more than once.
  std::uint64_t retransmissions() const { return retransmissions_; }
  std::uint64_t further_retransmissions() const { return further_; }

 private:
  struct Transaction {
    Time due;  ///< in deadlines_, unless it is proceeding
    Time timer_b;
    std::chrono::milliseconds interval;  ///< of Timer A
    bool proceeding = false;
  };
  using Deadline = std::pair<Time, std::uint32_t>;

  void stop_timers(std::uint32_t number, const Transaction& transaction);

  std::chrono::milliseconds t1_;
  bool reliable_;
  std::unordered_map<std::uint32_t, Transaction> open_;
  std::set<Deadline> deadlines_;
  std::uint64_t retransmissions_ = 0;
  std::uint64_t further_ = 0;
};

}  // namespace simco::loadgen::sip
