// Rules in Redis or Valkey: a hash for rules, another for everything else, and a stream that says
// which rules each batch has changed, for the boxes that stand by.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "middlebox/store/redis_boxes.hpp"
#include "middlebox/store/redis_connection.hpp"
#include "middlebox/store/store.hpp"

namespace simco::store {

/// Blocks for a few times kRedisPatience and kLease at most. One thread at a time.
class RedisStore final : public Store {
 public:
  /// Nothing is sent before the first call.
  explicit RedisStore(const RedisAddress& address) : redis_(address), lease_(address) {}

  std::string place() const override { return redis_.place(); }
  /// True if the server is a replica, which takes no writes.
  bool is_copy() override;
  void verify() override;
  /// Becomes the owner of the keys, unless the server is a replica: the previous owner cannot write
  /// any longer.
  Contents open() override;
  Changes follow() override;
  std::optional<Instant> confirm() override;
  /// Reconnects if the connection was lost. If fewer replicas than required confirm the batch, it
  /// is stored, but StoreError is thrown.
  void write(const Batch& batch) override;
  std::vector<std::string> take_warnings() override { return boxes_.take_warnings(); }
  bool is_shared() const override { return shared_; }

 private:
  /// What the owner has written beside the rules.
  struct About {
    std::string owner;  ///< empty: nothing has been written, or a replica is being filled
    std::optional<std::uint64_t> batch;  ///< nothing: of an earlier version, or nothing is there
    Counters counters;
    std::string previous;       ///< owner, whose history this one continues
    std::uint64_t claimed = 0;  ///< the last batch of that
    std::string shared;         ///< the last owner that knew of other boxes
  };

  std::string key(const char* part) const { return redis_.address().name + ":" + part; }
  void ask_about();
  About about_in(const redisReply* reply);
  /// Becomes the owner of the keys.
  void claim(const About& before);
  PolicyRuleId pid_in(std::string_view field);
  /// Reads everything, as of one moment: nothing from a replica that is being filled.
  Batch read_all();
  /// There is nothing: what was there is lost, or may come back.
  void note_nothing();
  /// Which rules the batches up to `batch` have changed: as HMGET's words.
  struct Changed {
    RedisConnection::Words words;
    std::uint64_t batch;
  };
  /// Reads from the stream what has changed since stored_. Waits for that if there is nothing, if
  /// told to. nullopt if batches are missing there, or are of another history than `about`, which
  /// was read just before.
  std::optional<Changed> read_changed_pids(const About& about, bool wait);
  Batch read_rules(const Changed& changed);
  /// Throws unless the keys are ours and as we left them, which does not matter if `all` will be
  /// written. Watches them. Returns whether they say that other boxes may have leases.
  bool require_ownership(bool all);
  /// Queues the commands that carry out `batch`. Returns their number.
  std::size_t queue(const Batch& batch);
  void await_replicas();
  RedisConnection::Reply store(const Batch& batch);
  /// Lets other boxes have leases once there are any and all is stored: from then on, what cannot
  /// be stored waits for their end. `said`: as require_ownership() has found.
  void share(bool said);
  /// Waits for the boxes in the set: `boxes` is the answer to Boxes::ask().
  void await_boxes(const redisReply* boxes, bool complete);
  /// A batch could not be stored: waits until no other box lets packets pass by earlier rules.
  void close_others();
  /// No box gets a lease any more, until a later batch is stored. Returns false if Redis does not
  /// say that it has heard.
  bool withdraw();

  RedisConnection redis_;
  Boxes boxes_{redis_};
  Lease lease_;
  std::string token_;     ///< identifies the owner of the keys
  std::string followed_;  ///< token of the owner whose batches have been read
  // Batches are numbered. A batch whose connection was lost may be stored or not.
  std::uint64_t tried_ = 0;           ///< the last batch
  std::uint64_t stored_ = 0;          ///< the last batch that was acknowledged, or followed
  bool current_ = true;               ///< a replica has all that its primary has
  bool failed_ = false;               ///< the last batch is not known to be stored
  std::atomic<bool> shared_ = false;  ///< other boxes may have leases
  std::int64_t rules_ = 0;            ///< least number of rules in Redis
};

}  // namespace simco::store
