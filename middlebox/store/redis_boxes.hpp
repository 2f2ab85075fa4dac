// Several boxes enforce the rules of one store: its owner, and boxes that stand by, each with a
// lease while it has all of them. An owner's write returns when each box with a lease enforces it,
// or no lease is left: a box that cannot be reached closes, and then the owner goes on without it.
//
// A box numbers its questions for a lease; each says which batch it enforces. The owner reads them
// with each batch, and when it looks at its store, and answers each with its number. A lease counts
// from the question that was answered, and Redis says in the same moment that no later batch is
// there. So no lease outlasts the owner's reading by more than kLease: an owner that cannot store
// a batch reads no more, and waits for so long. In Redis: a hash of the boxes' last questions, one
// of the owner's last answers, and a stream that wakes the owner.
// tests/simulator/spec/lease.pml is the specification, for one box that stands by.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "middlebox/store/redis_connection.hpp"
#include "simco/wire/instant.hpp"

namespace simco::store {

/// The owner's side. One thread at a time.
class Boxes {
 public:
  /// `redis`: of the store, which must outlive this.
  explicit Boxes(RedisConnection& redis) : redis_(redis) {}

  /// The owner begins; `owner` is its token. Boxes that have asked an earlier one may have leases,
  /// but `box` is its own.
  void begin(const std::string& owner, const std::string& box);
  /// Queues the answers to all that has been read, and the question for more: within the
  /// transaction of a batch. Returns the number of commands.
  std::size_t ask();
  /// Takes the answer to the last of them.
  void note(const redisReply* questions);
  /// Asks and notes. All batches must be stored.
  void look();
  /// The owner changes nothing any more: no answer is needed until another owner begins.
  void leave();
  /// Waits until batch `stored`, which Redis has since just now, is enforced by all boxes with a
  /// lease. Throws StoreError if Redis does not answer.
  void await(std::uint64_t stored);
  /// Waits until no box has a lease. None gets one, as nothing is read meanwhile.
  void await_end() const;
  /// True if no box is known.
  bool none() const { return known_.empty(); }
  /// The stream has been deleted.
  void forget_confirmed() { confirmed_ = "0-0"; }
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  struct Box {
    std::uint64_t batch = 0;   ///< that it enforces
    std::uint64_t number = 0;  ///< of its last question
    Instant read_at;           ///< the question was
    bool answered = false;
  };
  /// Until when a box that does not enforce the batch of `stored_at` may have a lease.
  static Instant end(const Box& box, Instant stored_at = Instant::max());
  /// Waits for a box that asks, for at most `patience`.
  void await_any(std::chrono::milliseconds patience);
  void forget(const std::string& name);

  RedisConnection& redis_;
  std::string owner_;
  std::map<std::string, Box> known_;
  std::string confirmed_ = "0-0";  ///< the last entry of the stream that was read
  unsigned connection_ = 0;        ///< by which
  std::vector<std::string> warnings_;
};

/// A box that stands by. One thread at a time.
class Lease {
 public:
  /// As this box follows the store: everything up to this batch of that owner.
  struct Followed {
    std::string owner;
    std::uint64_t batch = 0;
    bool operator==(const Followed&) const = default;
  };

  /// `copy`: where the copy is.
  explicit Lease(RedisAddress copy);

  /// The name of this box.
  const std::string& box() const { return box_; }
  /// The Redis of the owner.
  void set_owner(const std::string& host, std::uint16_t port);
  /// `followed` is enforced. Returns until when packets may pass; nullopt: there is more to follow,
  /// no answer yet, or a pause. Asks only if that is due, or there is news. Throws StoreError if
  /// the lease is over and the owner's Redis does not answer.
  std::optional<Instant> renew(const Followed& followed);
  /// What is followed from now on may be another history: the lease is over.
  void end_now();

 private:
  void ask(const Followed& followed, Instant now);
  bool is_close(const Followed& followed);
  /// When the question was asked that `answer` of `owner` is for.
  std::optional<Instant> answered(std::string_view answer, const std::string& owner,
                                  Instant now) const;
  /// Until then the owner waits for this box, which it has answered.
  Instant end() const;
  /// The lease is over, or did not come: the owner must not wait for this box again at once.
  void leave();

  RedisAddress address_;
  std::string box_;
  std::optional<RedisConnection> owner_;
  Followed asked_;                             ///< with the last question
  std::uint64_t number_ = 0;                   ///< of the last question
  std::map<std::uint64_t, Instant> asked_at_;  ///< by number, no longer ago than a lease lasts
  std::string failure_;                        ///< of the last question
  Instant tried_at_{};                         ///< last
  std::optional<Instant> joined_at_;           ///< since then the owner waits for this box
  Instant until_{};                            ///< of the lease
  Instant rejoin_at_{};                        ///< not before then
  std::chrono::seconds pause_{};
};

}  // namespace simco::store
