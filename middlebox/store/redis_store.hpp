// Rules in Redis or Valkey: a hash for rules, another for everything else, and a stream that says
// which rules each batch has changed, for the boxes that stand by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "middlebox/store/redis_connection.hpp"
#include "middlebox/store/redis_follower.hpp"
#include "middlebox/store/redis_owner.hpp"
#include "middlebox/store/store.hpp"

namespace simco::store {

/// Follows the rules until they are ours, and then writes them. Blocks for a few times
/// kRedisPatience and kLease at most. One thread at a time.
class RedisStore final : public Store {
 public:
  /// Nothing is sent before the first call.
  explicit RedisStore(const RedisAddress& address) : redis_(address) {}

  std::string place() const override { return redis_.place(); }
  bool is_copy() override { return follower_.is_copy(); }
  /// Becomes the owner of the keys, unless the server is a replica: the previous owner cannot write
  /// any longer.
  Contents open() override;
  Changes follow() override;
  std::optional<Instant> confirm() override { return follower_.confirm(); }
  void verify() override;
  /// Reconnects if the connection was lost. If fewer replicas than required confirm the batch, it
  /// is stored, but StoreError is thrown.
  void write(const Batch& batch) override { owner_.write(batch); }
  void leave() override { owner_.leave(); }
  std::vector<std::string> take_warnings() override { return owner_.take_warnings(); }
  bool is_shared() const override { return owner_.is_shared(); }

 private:
  About read_about();

  RedisConnection redis_;
  RedisFollower follower_{redis_};
  RedisOwner owner_{redis_};
};

}  // namespace simco::store
