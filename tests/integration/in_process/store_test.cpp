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

namespace simco::test {
namespace {

using store::Batch;
using store::Contents;
using store::Counters;
using store::Entry;
using store::Store;
using store::StoreError;

Entry entry(std::uint32_t pid, const std::string& octets) { return {PolicyRuleId{pid}, octets}; }

std::vector<Entry> sorted(std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, [](const Entry& one) { return one.pid; });
  return entries;
}

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

// --- A replica of Redis, followed ----------------------------------------------------------------

class Followed : public testing::Test {
 protected:
  Followed() {
    owner->open();
    owner->write({{entry(1, "one"), entry(2, "two")}, {3, 2}});
    EXPECT_TRUE(eventually([&] { return ask("hlen simco:rules") == "2\n"; }));
  }
  /// What the replica's redis-cli answers.
  std::string ask(const std::string& command) { return redis_cli(replica.port(), command); }
  void ask_owner(const std::string& command) { redis_cli(place.redis().port(), command); }
  static std::string redis_cli(std::uint16_t port, const std::string& command) {
    Program program(
        {"/usr/bin/env", "sh", "-c", "redis-cli -p " + std::to_string(port) + " " + command});
    program.wait();
    return program.out();
  }
  /// Follows until something has changed.
  store::Changes next() {
    store::Changes changes;
    EXPECT_TRUE(eventually([&] {
      changes = follower->follow();
      return changes.owned || changes.batch.all || !changes.batch.entries.empty();
    }));
    return changes;
  }
  void promote() { ask("replicaof no one"); }

  Place place{"redis"};
  std::unique_ptr<Store> owner = place.make();
  RedisServer replica{{"--replicaof", "127.0.0.1 " + std::to_string(place.redis().port())}};
  std::unique_ptr<Store> follower =
      std::move(*store::make_store(replica.address(), store::Sync::kDisk));
};

TEST_F(Followed, TellsWhatHasChanged) {
  EXPECT_FALSE(owner->is_copy());
  EXPECT_TRUE(follower->is_copy());
  const auto contents = follower->open();
  EXPECT_FALSE(contents.owned);
  EXPECT_EQ(sorted(contents.entries), (std::vector{entry(1, "one"), entry(2, "two")}));
  EXPECT_EQ(contents.counters, (Counters{3, 2}));
  EXPECT_TRUE(follower->follow().batch.entries.empty());

  owner->write({{entry(3, "three"), entry(1, {})}, {4, 2}});
  auto changes = next();
  EXPECT_FALSE(changes.owned);
  EXPECT_FALSE(changes.batch.all);
  EXPECT_EQ(sorted(changes.batch.entries), (std::vector{entry(1, {}), entry(3, "three")}));
  EXPECT_EQ(changes.batch.counters, (Counters{4, 2}));
  owner->write({{}, {9, 9}});
  owner->write({{entry(3, "more")}, {9, 9}});
  EXPECT_EQ(next().batch.entries, std::vector{entry(3, "more")});
}

TEST_F(Followed, TellsEverythingIfItMissedSomething) {
  follower->open();
  owner->write({{entry(3, "three")}, {4, 2}});
  ask_owner("xtrim simco:changes maxlen 0");
  owner->write({{entry(2, {})}, {4, 2}});
  EXPECT_TRUE(eventually([&] { return ask("hlen simco:rules") == "2\n"; }));
  const auto changes = next();
  EXPECT_TRUE(changes.batch.all);
  EXPECT_EQ(sorted(changes.batch.entries), (std::vector{entry(1, "one"), entry(3, "three")}));
}

TEST_F(Followed, BecomesTheStoreOfTheFollower) {
  follower->open();
  owner->write({{entry(3, "three")}, {4, 2}});
  EXPECT_TRUE(eventually([&] { return ask("hlen simco:rules") == "3\n"; }));
  promote();
  const auto changes = follower->follow();
  EXPECT_TRUE(changes.owned);
  EXPECT_EQ(changes.batch.entries, std::vector{entry(3, "three")});
  follower->write({{entry(4, "four")}, {5, 2}});
  EXPECT_EQ(ask("hlen simco:rules"), "4\n");
  // The first server has become its replica: what it belongs to is no longer the first owner's.
  ask_owner("replicaof 127.0.0.1 " + std::to_string(replica.port()));
  EXPECT_THROW(owner->write({{entry(5, "five")}, {6, 2}}), store::StoreTaken);
}

// Whoever makes the replica the primary: Sentinel does it in its own way, and cuts its clients off.
TEST_F(Followed, BecomesTheStoreOfTheFollowerBySentinel) {
  follower->open();
  const Folder folder("sentinel");
  const auto configuration = folder.file("sentinel.conf");
  std::ofstream(configuration) << "port " << free_port() << "\ndir " << folder.path
                               << "\nsentinel monitor rules 127.0.0.1 " << place.redis().port()
                               << " 1\nsentinel down-after-milliseconds rules 500\n";
  Program sentinel({"/usr/bin/redis-server", configuration, "--sentinel"});
  const auto knows = [&] { return sentinel.out().contains("+slave"); };
  ASSERT_TRUE(eventually(knows)) << sentinel.out();
  place.redis().program().signal(SIGKILL);
  EXPECT_TRUE(eventually([&] {
    try {
      return follower->follow().owned;
    } catch (const StoreError&) {
      return false;  // cut off, or not yet the primary
    }
  })) << sentinel.out();
  follower->write({{entry(3, "three")}, {4, 2}});
}

TEST(FollowedEmpty, FromTheFirstRuleOn) {
  Place place("redis");
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(place.redis().port())});
  const auto follower = std::move(*store::make_store(replica.address(), store::Sync::kDisk));
  EXPECT_FALSE(follower->open().owned);
  Program({"/usr/bin/redis-cli", "-p", std::to_string(replica.port()), "replicaof", "no", "one"})
      .wait();
  EXPECT_TRUE(follower->follow().owned);
  follower->write({{entry(1, "one")}, {2, 2}});
}

// A box that had the rules, and numbered its batches as the other one does now.
TEST_F(Followed, AnotherHistoryIsReadFromItsBeginning) {
  const auto before = std::move(*store::make_store(replica.address(), store::Sync::kDisk));
  promote();
  before->open();
  for (std::uint32_t pid = 10; pid < 14; ++pid) before->write({{entry(pid, "old")}, {20, 2}});
  // As soon as it is a replica again, it may still have what it had.
  ask("replicaof 127.0.0.1 1");
  EXPECT_EQ(follower->open().entries.size(), 6U);
  for (std::uint32_t pid = 3; pid < 9; ++pid) owner->write({{entry(pid, "new")}, {20, 2}});
  ask("replicaof 127.0.0.1 " + std::to_string(place.redis().port()));
  store::Changes changes;
  EXPECT_TRUE(eventually([&] {
    try {
      changes = follower->follow();
    } catch (const StoreError&) {
      return false;  // it is being filled
    }
    return changes.batch.all;
  }));
  EXPECT_EQ(changes.batch.entries.size(), 8U);
}

TEST_F(Followed, SaysIfItHasNoConnection) {
  follower->open();
  EXPECT_TRUE(eventually([&] { return follower->follow().current; }));
  ask("replicaof 127.0.0.1 1");
  EXPECT_FALSE(follower->follow().current);
}

TEST_F(Followed, AnOwnerSeesThatItIsOneNoLonger) {
  owner->verify();
  const auto next = place.make();
  next->open();
  EXPECT_THROW(owner->verify(), store::StoreTaken);
  next->verify();
  ask_owner("replicaof 127.0.0.1 1");
  EXPECT_THROW(next->verify(), store::StoreTaken);
}

// A replica that is being filled, or was emptied, takes no rule away from those who have it.
TEST_F(Followed, IsNotFollowedIntoNothing) {
  follower->open();
  ask_owner("flushall");
  EXPECT_TRUE(eventually([&] { return ask("dbsize") == "0\n"; }));
  const auto nothing = follower->follow();
  EXPECT_FALSE(nothing.batch.all);
  EXPECT_TRUE(nothing.batch.entries.empty());
  EXPECT_THROW(owner->write({{entry(3, "three")}, {4, 2}}), store::StoreLost);
  owner->write({{entry(1, "one"), entry(3, "three")}, {4, 2}, true});
  const auto all = next();
  EXPECT_TRUE(all.batch.all);
  EXPECT_EQ(sorted(all.batch.entries), (std::vector{entry(1, "one"), entry(3, "three")}));

  ask_owner("flushall");
  EXPECT_TRUE(eventually([&] { return ask("dbsize") == "0\n"; }));
  promote();
  const auto ours = follower->follow();
  EXPECT_TRUE(ours.owned);
  EXPECT_FALSE(ours.batch.all);
  EXPECT_THROW(follower->write({{entry(4, "four")}, {5, 2}}), store::StoreLost);
  follower->write({{entry(1, "one"), entry(4, "four")}, {5, 2}, true});
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
