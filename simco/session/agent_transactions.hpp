// The bookkeeping of an agent's session: open transactions and their deadlines, the stream of each
// rule, and rule events (ARE) that have not been taken yet. No sockets, no clock, no timers: TIDs,
// messages and times go in; completions and a deadline come out.
//
// Threads: none of its own; use one object from one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "simco/session/limits.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/messages.hpp"

namespace simco {

/// A change of a rule that the agent did not ask for, or its end (ARE, RFC 4540 section 5.3.19).
struct RuleEvent {
  PolicyRuleId pid;
  Lifetime lifetime;       ///< seconds from now; 0: the rule is gone
  std::uint64_t lost = 0;  ///< events dropped before this one because none were taken
  friend bool operator==(const RuleEvent&, const RuleEvent&) = default;
};

/// How a transaction ended.
enum class TransactionEnd : std::uint8_t {
  kReplied,       ///< there is a reply, positive or negative
  kWrongReply,    ///< the reply does not fit the request, which may have been carried out
  kTimedOut,      ///< no reply in time; the middlebox may have carried out the request
  kSessionEnded,  ///< the session ended first; the middlebox may have carried out the request
};

/// Returns the rule that a request has made according to its positive reply (PRR, PER, PEA, PDR);
/// nullopt if it makes none.
std::optional<PolicyRuleId> made_rule(const Body& reply);

/// Open transactions, streams and events of one session.
class AgentTransactions {
 public:
  /// Receives the end of a transaction, once. `reply` is null unless the end is kReplied; views in
  /// it are valid during the call only. A completion may call back into the object.
  using Completion = std::move_only_function<void(TransactionEnd, const Body* reply)>;

  /// `streams`: outbound streams of the association at this end, at least 1 (TCP: 1).
  explicit AgentTransactions(std::uint16_t streams = 1) : streams_(streams) {}

  /// Changes the number of streams. Must be called before the first transaction.
  void set_streams(std::uint16_t streams);

  /// True if no further transaction can wait for a reply (kAgentPendingMax).
  bool full() const { return pending_.size() >= kAgentPendingMax; }
  /// Returns the number of open transactions.
  std::size_t pending() const { return pending_.size(); }

  /// Returns a TID on whose stream a request about `rule` must be sent, because all messages about
  /// a rule share a stream; nullopt if any stream will do.
  std::optional<TransactionId> stream_of(std::optional<PolicyRuleId> rule) const;

  /// `request` was sent with `tid` and waits for its reply until `deadline`. `rule` is its subject,
  /// if it exists already. A deadline before that of an earlier call is treated as equal to it.
  void start(TransactionId tid, const Body& request, std::optional<PolicyRuleId> rule,
             Instant deadline, Completion done);

  /// Completes the transaction of a reply: with kReplied if `reply` is negative or the positive
  /// reply that section 8 has for the request, otherwise with kWrongReply. A reply without an open
  /// transaction is ignored.
  void on_reply(TransactionId tid, const Body& reply);

  /// Returns when on_deadline() must be called, if at all. Calling it earlier is harmless.
  std::optional<Instant> next_deadline() const;
  /// Completes all transactions whose deadline is `now` or earlier with kTimedOut.
  void on_deadline(Instant now);

  /// Keeps the event of an ARE notification.
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime);
  /// Returns and removes the oldest rule event, or nullopt if there is none.
  std::optional<RuleEvent> take_event();

  /// The session ended: completes every transaction with kSessionEnded and forgets the streams.
  /// Rule events can still be taken.
  void end();

 private:
  struct Pending {
    Completion done;
    SubType awaited;
    std::optional<PolicyRuleId> rule;
  };

  /// `about`: the rule that the request named.
  void remember_stream(const Body& reply, std::optional<PolicyRuleId> about, TransactionId tid);

  std::uint32_t streams_;
  std::unordered_map<TransactionId, Pending> pending_;
  /// In the order of the deadlines; transactions that have ended since are still in it.
  std::deque<std::pair<Instant, TransactionId>> deadlines_;
  /// The request that made each rule; kept only if there are several streams.
  std::unordered_map<PolicyRuleId, TransactionId> creating_tid_;
  std::deque<RuleEvent> events_;
};

}  // namespace simco
