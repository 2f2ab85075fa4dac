// The replies that a middlebox has given last in a session, so that a request which its agent sends
// again is answered again and not carried out again. RFC 4540 section 4.2.5 has no two different
// requests share a TID, so a request with a TID that was used is the same request.
//
// Agents repeat a request on another stream if it stays unanswered for longer than usual
// (RequestRepeater): either copy may arrive first, and the other one much later. Over the
// transports of section 3, nothing else makes a request arrive twice.
//
// Threads: none of its own; use one object from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "simco/wire/ids.hpp"

namespace simco {

/// What a request is, to a middlebox that remembers.
enum class Recognition : std::uint8_t {
  kUnderWay,  ///< a copy of one that is being carried out: its reply will do for both
  kAnswered,  ///< a copy of one that is answered: ReplyMemory::reply() says how
  kTooOld,  ///< a copy of one whose reply is forgotten, or so late that it cannot be told from one
  kNew,     ///< must be carried out
};

/// Requests and replies of one session.
///
/// An agent's TIDs must ascend on each of its streams, as TidAllocator's do. What is forgotten can
/// then be told from what is new: no request is carried out twice, however late a copy arrives.
class ReplyMemory {
 public:
  /// `kept`: replies to remember, at least 1; each takes kRepeatableMax octets and its request as
  /// many at most. `streams`: inbound streams of the association at the middlebox, at least 1.
  ReplyMemory(std::size_t kept, std::uint16_t streams);

  /// A whole request message arrived. Remembers it if it is new. Requests of more than
  /// kRepeatableMax octets are always new: agents do not repeat those.
  Recognition recognize(TransactionId tid, std::span<const std::byte> request);
  /// Returns the reply to a request that recognize() has just called kAnswered: a whole message,
  /// valid until the next call of answered().
  std::span<const std::byte> reply(TransactionId tid) const;
  /// The request `tid` is answered with the message `reply`. One of more than kRepeatableMax octets
  /// (a list) is not kept: its request may be carried out again, since it only reads.
  void answered(TransactionId tid, std::span<const std::byte> reply);

 private:
  struct Entry {
    std::vector<std::byte> request;
    std::vector<std::byte> reply;  ///< empty: under way
  };

  /// One more than the sequence number of a TID on its stream.
  std::uint64_t position(TransactionId tid) const {
    return tid.value / streams_ + std::uint64_t{1};
  }
  void forget_oldest();

  std::size_t kept_;
  std::uint32_t streams_;
  std::unordered_map<TransactionId, Entry> entries_;
  std::deque<TransactionId> answered_;  ///< in the order of their replies
  /// Per stream, the position of the highest TID that was forgotten; 0: none.
  std::vector<std::uint64_t> forgotten_;
};

}  // namespace simco
