// The contract of every store, with the real engines, and the properties of each.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "middlebox/store/memory_store.hpp"
#include "middlebox/store/redis_store.hpp"
#include "middlebox/store/store.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/port.hpp"
#include "tests/support/program.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/store_entries.hpp"

namespace simco::test {
namespace {

using store::Batch;
using store::Contents;
using store::Counters;
using store::Entry;
using store::Store;
using store::StoreError;

/// The complaint of `call`; empty without any.
template <class Call>
std::string complaint(Call call) {
  try {
    call();
    return {};
  } catch (const StoreError& error) {
    return error.what();
  }
}

/// A place where a store can be, and be again.
class Place {
 public:
  explicit Place(const std::string& kind) : kind_(kind) {
    if (kind == "redis") {
      redis_.emplace();
      where = redis_->address();
    } else {
      static int count = 0;
      where = testing::TempDir() + "simco-store-" + std::to_string(::getpid()) + "-" +
              std::to_string(++count);
    }
  }
  ~Place() {
    for (const char* end : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(where + end);
  }
  std::unique_ptr<Store> make() {
    if (kind_ == "memory") return std::make_unique<store::MemoryStore>(memory_);
    auto made = store::make_store(where, store::Sync::kDisk);
    EXPECT_TRUE(made) << made.error();
    return std::move(*made);
  }
  Contents contents() { return make()->open(); }
  RedisServer& redis() { return *redis_; }

  std::string where;

 private:
  std::string kind_;
  store::Memory memory_;
  std::optional<RedisServer> redis_;
};

// --- Every store ---------------------------------------------------------------------------------

class AnyStore : public testing::TestWithParam<const char*> {
 protected:
  Place place{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Stores, AnyStore, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(AnyStore, BeginsEmpty) {
  const auto contents = place.contents();
  EXPECT_TRUE(contents.entries.empty());
  EXPECT_EQ(contents.counters, Counters{});
}

TEST_P(AnyStore, KeepsWhatWasWritten) {
  const std::string octets("\0\xFF any\r\n octets \0", 17);
  {
    const auto store = place.make();
    store->open();
    store->write({{entry(1, "one"), entry(0xFFFF'FFFF, octets)}, {3, 2}});
    store->write({{entry(2, "two")}, {0x1'0000'0007, 0x2'0000'0001}});
  }
  const auto contents = place.contents();
  EXPECT_EQ(sorted(contents.entries),
            (std::vector{entry(1, "one"), entry(2, "two"), entry(0xFFFF'FFFF, octets)}));
  EXPECT_EQ(contents.counters, (Counters{0x1'0000'0007, 0x2'0000'0001}));
}

TEST_P(AnyStore, ReplacesAndForgets) {
  {
    const auto store = place.make();
    store->open();
    store->write({{entry(1, "one"), entry(2, "two"), entry(3, "three")}, {}});
    store->write({{entry(1, {}), entry(2, "too"), entry(7, {})}, {}});
  }
  EXPECT_EQ(sorted(place.contents().entries), (std::vector{entry(2, "too"), entry(3, "three")}));
}

TEST_P(AnyStore, LaterInABatchWins) {
  {
    const auto store = place.make();
    store->open();
    store->write({{entry(1, "a"), entry(1, {}), entry(2, {}), entry(2, "b"), entry(2, "c")}, {}});
  }
  EXPECT_EQ(place.contents().entries, std::vector{entry(2, "c")});
}

TEST_P(AnyStore, TakesLargeBatches) {
  Batch batch;
  for (std::uint32_t pid = 1; pid <= 20'000; ++pid) {
    batch.entries.push_back(entry(pid, std::string(150, 'x')));
  }
  {
    const auto store = place.make();
    store->open();
    store->write(batch);
    batch.entries.resize(5000);
    for (auto& one : batch.entries) one.octets.clear();
    store->write(batch);
  }
  EXPECT_EQ(place.contents().entries.size(), 15'000U);
}

TEST_P(AnyStore, AnEmptyBatchKeepsTheCounters) {
  {
    const auto store = place.make();
    store->open();
    store->write({{}, {5, 6}});
  }
  EXPECT_EQ(place.contents().counters, (Counters{5, 6}));
}

// --- SQLite --------------------------------------------------------------------------------------

class Sqlite : public testing::Test {
 protected:
  Place place{"sqlite"};
  void sql(const std::string& command) const {
    EXPECT_EQ(std::system(("sqlite3 '" + place.where + "' '" + command + "'").c_str()), 0);
  }
};

TEST_F(Sqlite, IsForItsOwnerAlone) {
  const auto store = place.make();
  store->open();
  store->write({{entry(1, "one")}, {}});
  for (const char* end : {"", "-wal"}) {
    struct stat found{};
    ASSERT_EQ(::stat((place.where + end).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U) << end;
  }
}

TEST_F(Sqlite, AFileThatOthersMayReadIsMadePrivate) {
  place.make()->open();
  ASSERT_EQ(::chmod(place.where.c_str(), 0644), 0);
  place.make()->open();
  struct stat found{};
  ASSERT_EQ(::stat(place.where.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST_F(Sqlite, HasOneUserAtATime) {
  const auto first = place.make();
  first->open();
  const auto second = place.make();
  EXPECT_TRUE(complaint([&] { second->open(); }).contains("in use by another process"));
  first->write({{entry(1, "one")}, {}});
}

TEST_F(Sqlite, KeepsItsHandsOffWhatIsNotIts) {
  sql("CREATE TABLE mail (text)");
  EXPECT_TRUE(complaint([&] { place.contents(); }).contains("not a simco-middlebox database"));
}

TEST_F(Sqlite, KnowsALaterSchema) {
  place.contents();
  sql("PRAGMA user_version = 2");
  EXPECT_TRUE(complaint([&] { place.contents(); }).contains("(schema 2, this version supports 1)"));
}

TEST_F(Sqlite, SaysWhatIsWrong) {
  std::ofstream(place.where) << "This is a text that is long enough not to be an empty database.\n"
                             << std::string(2000, 'x');
  EXPECT_TRUE(complaint([&] { place.contents(); }).contains("not a database"));
  const auto nowhere = store::make_store("/nowhere/rules", store::Sync::kDisk);
  EXPECT_EQ(complaint([&] { (*nowhere)->open(); }), "/nowhere/rules: No such file or directory");
}

// --- Redis ---------------------------------------------------------------------------------------

class Redis : public testing::Test {
 protected:
  Place place{"redis"};
};

TEST_F(Redis, TheOneThatOpenedLastOwnsTheRules) {
  const auto first = place.make();
  first->open();
  first->write({{entry(1, "one")}, {}});
  const auto second = place.make();
  second->open();
  EXPECT_TRUE(
      complaint([&] { first->write({{entry(1, {})}, {}}); }).contains("taken over these rules"));
  // Nor after it has connected again.
  EXPECT_FALSE(complaint([&] { first->write({{entry(1, {})}, {}}); }).empty());
  second->write({{entry(2, "two")}, {}});
  EXPECT_EQ(place.contents().entries.size(), 2U);
}

TEST_F(Redis, ConnectsAgain) {
  const auto store = place.make();
  store->open();
  store->write({{entry(1, "one")}, {}});
  const auto port = std::to_string(place.redis().port());
  ASSERT_EQ(std::system(("redis-cli -p " + port + " client kill type normal >/dev/null").c_str()),
            0);
  EXPECT_FALSE(complaint([&] { store->write({{entry(2, "two")}, {}}); }).empty());
  store->write({{entry(3, "three")}, {}});
  EXPECT_EQ(sorted(place.contents().entries), (std::vector{entry(1, "one"), entry(3, "three")}));
}

// Emptied, gone back to an earlier state, or with a value that takes no rules: Redis carries out
// the rest of an EXEC in which a command fails.
TEST_F(Redis, ThatHasLostRulesTakesAllOfThem) {
  const std::string ask = "redis-cli -p " + std::to_string(place.redis().port()) + " ";
  std::uint32_t pid = 1;
  for (const auto* fault : {"flushall", "hset simco:about batch 1", "set simco:rules x"}) {
    const auto store = place.make();
    store->open();
    store->write({{entry(++pid, "one")}, {}});
    store->write({{entry(++pid, "two")}, {}});
    ASSERT_EQ(std::system((ask + fault + " >/dev/null").c_str()), 0);
    EXPECT_THROW(store->write({{entry(++pid, "three")}, {}}), store::StoreLost) << fault;
    store->write({{entry(++pid, "all")}, {}, true});
    EXPECT_EQ(place.contents().entries, std::vector{entry(pid, "all")}) << fault;
  }
}

TEST_F(Redis, NamesAreSeparate) {
  const auto other = [&] {
    return std::move(*store::make_store(place.where + "?name=other", store::Sync::kDisk));
  };
  const auto first = place.make();
  first->open();
  const auto second = other();
  second->open();
  first->write({{entry(1, "one")}, {}});
  second->write({{entry(1, "another")}, {}});
  EXPECT_EQ(place.contents().entries, std::vector{entry(1, "one")});
  EXPECT_EQ(other()->open().entries, std::vector{entry(1, "another")});
}

TEST_F(Redis, WaitsForReplicasWhereTold) {
  const auto where = place.where + "?replicas=1";
  const auto store = std::move(*store::make_store(where, store::Sync::kDisk));
  store->open();
  EXPECT_TRUE(
      complaint([&] { store->write({{entry(1, "one")}, {}}); }).contains("0 of 1 replicas"));
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(place.redis().port())});
  // When the replica has caught up.
  EXPECT_TRUE(eventually(
      [&] { return complaint([&] { store->write({{entry(2, "two")}, {}}); }).empty(); }));
}

TEST_F(Redis, AsksForAPassword) {
  RedisServer guarded({"--requirepass", "secret"});
  const auto open = [&](const std::string& who) {
    const auto where = "redis://" + who + "127.0.0.1:" + std::to_string(guarded.port()) + "/3";
    return complaint([&] { (*store::make_store(where, store::Sync::kDisk))->open(); });
  };
  EXPECT_TRUE(open("").contains("NOAUTH"));
  const auto wrong = open(":wrong@");
  EXPECT_TRUE(wrong.contains("WRONGPASS"));
  EXPECT_FALSE(wrong.contains("@")) << wrong;
  EXPECT_EQ(open(":secret@"), "");
  EXPECT_EQ(open("default:secret@"), "");
}

TEST_F(Redis, KnowsALaterSchema) {
  place.contents();
  const auto port = std::to_string(place.redis().port());
  ASSERT_EQ(std::system(("redis-cli -p " + port + " hset simco:about schema 9 >/dev/null").c_str()),
            0);
  EXPECT_TRUE(complaint([&] { place.contents(); }).contains("(schema 9, this version supports 1)"));
}

TEST(RedisAddress, IsRead) {
  const auto all =
      store::parse_redis_address("redis://simco:pass:word@db.example:6380/4?name=west&replicas=2");
  ASSERT_TRUE(all) << all.error();
  EXPECT_EQ(all->host, "db.example");
  EXPECT_EQ(all->port, 6380);
  EXPECT_EQ(all->database, 4);
  EXPECT_EQ(all->user, "simco");
  EXPECT_EQ(all->password, "pass:word");
  EXPECT_EQ(all->name, "west");
  EXPECT_EQ(all->replicas, 2);
  const auto plain = store::parse_redis_address("redis://[2001:db8::1]");
  ASSERT_TRUE(plain) << plain.error();
  EXPECT_EQ(plain->host, "2001:db8::1");
  EXPECT_EQ(plain->port, 6379);
  EXPECT_EQ(plain->name, "simco");
  for (const char* wrong :
       {"redis:/x", "redis://", "redis://h:0", "redis://h:x", "redis://h/x", "redis://h/-1",
        "redis://h?names=x", "redis://h?name=", "redis://h?replicas=many", "rediss://h"}) {
    EXPECT_FALSE(store::parse_redis_address(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace simco::test
