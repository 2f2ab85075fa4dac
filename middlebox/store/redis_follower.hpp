// Reads the rules in Redis: all of them, or those that batches of their owner have changed. A box
// that stands by follows them, and has its lease.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "middlebox/store/redis_about.hpp"
#include "middlebox/store/redis_boxes.hpp"
#include "middlebox/store/redis_connection.hpp"
#include "middlebox/store/store.hpp"

namespace simco::store {

/// One thread at a time.
class RedisFollower {
 public:
  /// `redis`: of the store, which must outlive this.
  explicit RedisFollower(RedisConnection& redis) : redis_(redis), lease_(redis.address()) {}

  /// True if the server is a replica, which takes no writes. Connects to it.
  bool is_copy();
  /// True if that replica had all that its primary has, when it was last asked.
  bool current() const { return current_; }

  /// Reads everything, as of one moment: nothing from a replica that is being filled.
  Batch read_all();
  /// Reads what has changed since the last call, or everything. `about` was read just before.
  /// `wait`: for a change, for at most kFollowPatience.
  Batch read_changes(const About& about, bool wait);
  Position position() const { return at_; }

  /// As Store::confirm().
  std::optional<Instant> confirm();
  /// The name of this box.
  const std::string& box() const { return lease_.box(); }

 private:
  /// There is nothing: what was there is lost, or may come back.
  void note_nothing();
  /// Which rules the batches up to `batch` have changed: as HMGET's words.
  struct Changed {
    RedisConnection::Words words;
    std::uint64_t batch;
  };
  /// Reads from the stream what has changed. nullopt if batches are missing there, or are of
  /// another history than `about`.
  std::optional<Changed> read_changed_pids(const About& about, bool wait);
  Batch read_rules(const Changed& changed);
  PolicyRuleId pid_in(std::string_view field);

  RedisConnection& redis_;
  Lease lease_;
  std::string followed_;  ///< token of the owner whose batches have been read
  Position at_;
  bool current_ = true;
};

}  // namespace simco::store
