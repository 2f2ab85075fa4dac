// What the owner of the keys writes beside the rules, in the hash NAME:about.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "middlebox/store/redis_connection.hpp"
#include "middlebox/store/store.hpp"

namespace simco::store {

/// Version of the keys and their contents.
inline constexpr const char* kKeysVersion = "1";

struct About {
  std::string owner;                   ///< empty: nothing is there, or a replica is being filled
  std::optional<std::uint64_t> batch;  ///< its last one; nothing: it is of an earlier version
  Counters counters;
  std::string earlier;        ///< owners whose history this one continues, the last one first
  std::uint64_t claimed = 0;  ///< the last batch of that
};

/// Queues the question for it.
void ask_about(RedisConnection& redis);
/// Reads the answer. Throws StoreError if another version has written it.
About about_in(RedisConnection& redis, const redisReply* reply);

/// As the number of a batch: no batch has it, so that everything must be read, or written.
inline constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

/// The batches that a box has read, or written. They are numbered.
struct Position {
  std::uint64_t tried = 0;   ///< the last one, which may be stored or not
  std::uint64_t stored = 0;  ///< the last one that was acknowledged, or followed
  std::int64_t rules = 0;    ///< least number of rules in Redis
};

/// The entry of the stream NAME:changes for batch `number`.
inline std::string stream_id(std::uint64_t number) { return std::to_string(number) + "-0"; }

}  // namespace simco::store
