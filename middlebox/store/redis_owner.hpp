// Writes rules into Redis. Each batch is a transaction (WATCH, MULTI, EXEC) that fails if another
// process has become the owner of the keys, and waits for the boxes that stand by.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "middlebox/store/redis_about.hpp"
#include "middlebox/store/redis_boxes.hpp"
#include "middlebox/store/redis_connection.hpp"
#include "middlebox/store/store.hpp"

namespace simco::store {

/// One thread at a time.
class RedisOwner {
 public:
  /// `redis`: of the store, which must outlive this.
  explicit RedisOwner(RedisConnection& redis) : redis_(redis) {}

  /// Becomes the owner of the keys. `box`: this one, which stands by no longer.
  void claim(const About& before, const std::string& box);
  /// What has been read since, which the next batch follows.
  void begin(const Position& at) { at_ = at; }
  /// As Store::verify(), on a server that is no replica.
  void verify();
  /// As Store::write().
  void write(const Batch& batch);

  /// As Store::leave().
  void leave();

  /// True if other boxes have asked for leases. For any thread.
  bool is_shared() const { return shared_; }
  std::vector<std::string> take_warnings() { return boxes_.take_warnings(); }

 private:
  /// Throws unless the keys are ours and as we left them, which does not matter if `all` will be
  /// written. Watches them.
  void require_ownership(bool all);
  /// Queues the commands that carry out `batch`. Returns their number.
  std::size_t queue(const Batch& batch);
  void store(const Batch& batch);
  void await_replicas();
  RedisConnection& redis_;
  Boxes boxes_{redis_};
  std::string token_;    ///< identifies the owner of the keys
  std::string earlier_;  ///< those of the owners before: Redis may return to their states
  std::string claimed_;  ///< the last batch of these
  Position at_;
  bool failed_ = false;               ///< the last batch is not known to be stored
  std::atomic<bool> shared_ = false;  ///< other boxes have asked for leases
};

}  // namespace simco::store
