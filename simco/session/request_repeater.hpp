// When an agent sends a request again because its reply is late: hedged requests, for the tail of
// the latency. A lost packet delays the requests behind it in its stream by a retransmission; a
// copy on another stream arrives earlier. Only for a middlebox that recognizes copies
// (ReplyMemory).
//
// A request is sent again once, `factor` smoothed round trips after it was sent. Not sent again
// are:
//  - those of more than kRepeatableMax octets;
//  - those about an existing rule that were sent while others of their stream were unanswered: a
//  copy
//    must not overtake an earlier request about the same rule;
//  - any, once kRepeaterRequestsMax are unanswered: then something else is wrong;
//  - more than one in kRequestsPerRepeat, beside kRepeatBurst: a slow middlebox gets no further
//  load.
//
// No clock: times go in. Threads: none of its own; use one object from one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco {

/// The unanswered requests of one session.
class RequestRepeater {
 public:
  /// `factor`: smoothed round trips after which a request is sent again, greater than 1. `streams`:
  /// outbound streams of the association at the agent's end. With one there is no other stream to
  /// repeat on, and nothing is repeated.
  RequestRepeater(double factor, std::uint16_t streams);

  /// The whole message `request` was sent. `about_rule`: it names a rule that exists.
  void sent(TransactionId tid, std::span<const std::byte> request, bool about_rule, Instant now);

  /// What a reply means.
  struct Answer {
    /// The first reply to its request: it must be delivered. The other ones must be dropped.
    bool first = true;
    /// A rule that must be ended: the middlebox has carried out both copies. No further
    /// request is repeated after that.
    std::optional<PolicyRuleId> stray = {};
  };
  /// A reply arrived. `made`: the rule that it says was made, see made_rule().
  Answer replied(TransactionId tid, std::optional<PolicyRuleId> made, Instant now);

  /// Returns when take_due() must be called, if at all. Calling it earlier is harmless.
  std::optional<Instant> next() const;
  /// A request to send again now.
  struct Due {
    std::span<const std::byte> request;  ///< a whole message, valid until the next call
    std::uint16_t stream;                ///< to send it on
  };
  /// Returns the next request that is due at `now`, or nullopt.
  std::optional<Due> take_due(Instant now);

  /// Returns the smoothed round trip of requests that were not repeated (RFC 6298 section 2, and
  /// Karn's algorithm); nullopt before the first one.
  std::optional<Instant::duration> round_trip() const { return round_trip_; }
  /// Returns how many requests were sent again.
  std::uint64_t repeated() const { return repeated_; }
  /// Returns how many of those the middlebox has carried out twice: 1 at most per session, unless
  /// several were on their way.
  std::uint64_t strays() const { return strays_; }

 private:
  struct Unanswered {
    std::vector<std::byte> request;
    Instant sent;
    bool repeated = false;
  };
  /// A request that was repeated and has one reply.
  using AnsweredOnce = std::optional<PolicyRuleId>;

  std::uint16_t stream_of(TransactionId tid) const {
    return static_cast<std::uint16_t>(tid.value % streams_);
  }
  void measure(Instant::duration round_trip);
  Answer replied_again(TransactionId tid, std::optional<PolicyRuleId> made);
  void watch(TransactionId tid, std::optional<PolicyRuleId> made);
  /// No further request is repeated.
  void stop();
  /// Removes what needs no repetition from the front of the order.
  void tidy();

  double factor_;
  std::uint32_t streams_;
  std::unordered_map<TransactionId, Unanswered> unanswered_;
  std::vector<std::uint32_t> unanswered_on_;  ///< requests per stream
  std::deque<TransactionId>
      order_;  ///< that may be repeated, as sent; some have been answered since
  std::unordered_map<TransactionId, AnsweredOnce> answered_once_;
  std::deque<TransactionId> watched_;  ///< keys of answered_once_, oldest first; some are gone
  std::optional<Instant::duration> round_trip_;
  std::uint32_t allowance_;  ///< repetitions that are left, in parts of kRequestsPerRepeat
  bool stopped_ = false;
  std::uint64_t repeated_ = 0;
  std::uint64_t strays_ = 0;
};

}  // namespace simco
