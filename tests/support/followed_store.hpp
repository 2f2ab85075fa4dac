// A Redis with rules, its replica, and a store on each: one middlebox owns the rules, the other one
// follows.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "middlebox/store/store.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/program.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/store_entries.hpp"

namespace simco::test {

inline std::unique_ptr<store::Store> open_at(const RedisServer& server) {
  // A database, so that each connection has something to say first.
  return std::move(*store::make_store(server.address() + "/1", store::Sync::kDisk));
}

inline std::string replica_of(const RedisServer& primary) {
  return "127.0.0.1 " + std::to_string(primary.port());
}

class Followed : public testing::Test {
 protected:
  Followed() {
    owner->open();
    owner->write({{entry(1, "one"), entry(2, "two")}, {3, 2}});
    EXPECT_TRUE(eventually([&] { return ask("hlen simco:rules") == "2\n"; }));
  }
  /// What the replica's redis-cli answers.
  std::string ask(const std::string& command) { return redis_cli(replica.port(), command); }
  std::string ask_owner(const std::string& command) { return redis_cli(primary.port(), command); }
  static std::string redis_cli(std::uint16_t port, const std::string& command) {
    Program program(
        {"/usr/bin/env", "sh", "-c", "redis-cli -n 1 -p " + std::to_string(port) + " " + command});
    program.wait();
    return program.out();
  }
  /// Follows as soon as its Redis answers.
  store::Changes follow() {
    std::optional<store::Changes> changes;
    EXPECT_TRUE(eventually([&] {
      try {
        changes = follower->follow();
      } catch (const store::StoreError&) {
        return false;
      }
      return true;
    }));
    return changes.value_or(store::Changes{});
  }
  /// Follows until something has changed.
  store::Changes next() {
    store::Changes changes;
    EXPECT_TRUE(eventually([&] {
      changes = follow();
      return changes.owned || changes.batch.all || !changes.batch.entries.empty();
    }));
    return changes;
  }
  void promote() { ask("replicaof no one"); }

  RedisServer primary;
  std::unique_ptr<store::Store> owner = open_at(primary);
  RedisServer replica{{"--replicaof", replica_of(primary)}};
  std::unique_ptr<store::Store> follower = open_at(replica);
};

}  // namespace simco::test
