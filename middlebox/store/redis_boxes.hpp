// Several boxes enforce the rules of one store: its owner, and boxes that stand by, each with a
// lease while it has all of them. An owner's write returns when each box in the set enforces it, or
// no lease is left: a box that cannot be reached closes, and then the owner goes on without it.
//
// In Redis: a sorted set of boxes, whose score is the last batch that they enforce, and a stream
// that wakes the owner. Redis carries out one command after the other, so for each batch, either a
// box has it before it gets a lease, or the owner finds the box in the set when it stores the
// batch. In NAME:about, "shared" names the owner that knows of other boxes: before, none gets a
// lease, as an owner that cannot store a batch must know whether to wait. NAME:withdrawn has
// the last batch that an owner tried in vain: no box gets a lease by it or by earlier ones.
// tests/simulator/spec/lease.pml is the specification, for one box that stands by.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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

  /// The owner begins: asks for the boxes, and removes `box`, which is its own.
  void begin(const std::string& box);
  /// Queues the question for the boxes: within the transaction of a batch.
  void ask();
  /// Takes the answer to it.
  void note(const redisReply* boxes);
  /// Waits for all boxes in the set: `boxes` is the answer, `batch` the number of the batch,
  /// `owner` the token of its owner. If the answer is not `complete`, as Redis has lost data, for
  /// as long as a lease may last. Throws StoreError if Redis does not answer.
  void await(const redisReply* boxes, std::uint64_t batch, std::string_view owner, bool complete);
  /// True if no box is known.
  bool none() const { return known_.empty(); }
  /// The stream has been deleted.
  void forget_confirmed() { confirmed_ = "0-0"; }
  /// Waits until no lease is left of those that boxes have now.
  static void await_end();
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  /// Which boxes may have a lease, and do not enforce `batch` of `owner`.
  std::set<std::string> behind(const redisReply* boxes, std::uint64_t batch,
                               std::string_view owner);
  /// Waits for a box that confirms anything, for at most `patience`.
  void await_any(std::chrono::milliseconds patience);

  RedisConnection& redis_;
  std::set<std::string> known_;    ///< that may have a lease
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
    std::uint64_t batch;
  };

  /// `copy`: where the copy is.
  explicit Lease(RedisAddress copy);

  /// The name of this box.
  const std::string& box() const { return box_; }
  /// The Redis of the owner.
  void set_owner(const std::string& host, std::uint16_t port);
  /// `followed` is enforced. Returns until when packets may pass; nullopt: there is more to follow,
  /// or a pause. Asks only if that is due, or there is news. Throws StoreError if the lease is over
  /// and the owner's Redis does not answer.
  std::optional<Instant> renew(const Followed& followed);

 private:
  void ask(const Followed& followed, Instant now);
  bool is_close(const Followed& followed);
  /// Until then the owner waits for this box, which has joined.
  Instant end() const;
  /// The lease is over, or did not come: the owner must not wait for this box again at once.
  void leave();

  RedisAddress address_;
  std::string box_;
  std::optional<RedisConnection> owner_;
  std::string member_;  ///< as confirmed last
  std::uint64_t batch_ = 0;
  std::string failure_;               ///< of the last question
  Instant asked_at_{};                ///< last
  std::optional<Instant> joined_at_;  ///< since then the owner waits for this box
  Instant until_{};                   ///< of the lease
  Instant rejoin_at_{};               ///< not before then
  std::chrono::seconds pause_{};
};

}  // namespace simco::store
