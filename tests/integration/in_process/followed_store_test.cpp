// A replica of Redis that a second middlebox follows, with real servers: what it learns, how it
// becomes the owner, and how the owner waits for it.
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <optional>

#include "middlebox/store/limits.hpp"
#include "middlebox/store/store.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/port.hpp"
#include "tests/support/program.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/store_entries.hpp"

namespace simco::test {
namespace {

using store::Counters;
using store::Entry;
using store::Store;
using store::StoreError;

std::unique_ptr<Store> open_at(const RedisServer& server) {
  // A database, so that each connection has something to say first.
  return std::move(*store::make_store(server.address() + "/1", store::Sync::kDisk));
}

std::string replica_of(const RedisServer& primary) {
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

  RedisServer primary;
  std::unique_ptr<Store> owner = open_at(primary);
  RedisServer replica{{"--replicaof", replica_of(primary)}};
  std::unique_ptr<Store> follower = open_at(replica);
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
                               << "\nsentinel monitor rules 127.0.0.1 " << primary.port()
                               << " 1\nsentinel down-after-milliseconds rules 500\n";
  Program sentinel({"/usr/bin/redis-server", configuration, "--sentinel"});
  const auto knows = [&] { return sentinel.out().contains("+slave"); };
  ASSERT_TRUE(eventually(knows)) << sentinel.out();
  primary.program().signal(SIGKILL);
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
  const RedisServer primary;
  RedisServer replica({"--replicaof", replica_of(primary)});
  const auto follower = open_at(replica);
  EXPECT_FALSE(follower->open().owned);
  Program({"/usr/bin/redis-cli", "-p", std::to_string(replica.port()), "replicaof", "no", "one"})
      .wait();
  EXPECT_TRUE(follower->follow().owned);
  follower->write({{entry(1, "one")}, {2, 2}});
}

// A box that had the rules, and numbered its batches as the other one does now.
TEST_F(Followed, AnotherHistoryIsReadFromItsBeginning) {
  const auto before = open_at(replica);
  promote();
  before->open();
  for (std::uint32_t pid = 10; pid < 14; ++pid) before->write({{entry(pid, "old")}, {20, 2}});
  // As soon as it is a replica again, it may still have what it had.
  ask("replicaof 127.0.0.1 1");
  EXPECT_EQ(follower->open().entries.size(), 6U);
  for (std::uint32_t pid = 3; pid < 9; ++pid) owner->write({{entry(pid, "new")}, {20, 2}});
  ask("replicaof 127.0.0.1 " + std::to_string(primary.port()));
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

// Its rules must not come back here.
TEST_F(Followed, AStoreThatGoesBackIsNotFollowed) {
  follower->open();
  const auto batch = ask_owner("hget simco:about batch");
  owner->write({{entry(1, {})}, {3, 2}});
  EXPECT_EQ(next().batch.entries, std::vector{entry(1, {})});
  ask_owner("hset simco:rules 1 one");
  ask_owner("hset simco:about batch " + batch);
  EXPECT_TRUE(eventually([&] { return ask("hget simco:about batch") == batch; }));
  const auto changes = follower->follow();
  EXPECT_FALSE(changes.batch.all);
  EXPECT_TRUE(changes.batch.entries.empty());
  EXPECT_EQ(follower->confirm(), std::nullopt);
  EXPECT_THROW(owner->verify(), store::StoreLost);
  owner->write({{entry(2, "two")}, {3, 2}, true});
  EXPECT_EQ(next().batch.entries, std::vector{entry(2, "two")});
}

// As when it is upgraded: there may be a million rules.
TEST_F(Followed, AnOwnerThatStartsAgainIsFollowedFromWhereItWas) {
  follower->open();
  for (const bool at_once : {false, true}) {
    owner = open_at(primary);
    owner->open();
    const bool read_all = !at_once && follower->follow().batch.all;
    EXPECT_FALSE(read_all);
    owner->write({{entry(3, "three")}, {4, 2}});
    const auto changes = next();
    EXPECT_FALSE(changes.batch.all);
    EXPECT_EQ(changes.batch.entries, std::vector{entry(3, "three")});
  }
}

TEST_F(Followed, SaysIfItHasNoConnection) {
  follower->open();
  EXPECT_TRUE(eventually([&] { return follower->follow().current; }));
  ask("replicaof 127.0.0.1 1");
  EXPECT_FALSE(follower->follow().current);
}

TEST_F(Followed, AnOwnerSeesThatItIsOneNoLonger) {
  owner->verify();
  const auto next = open_at(primary);
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

// --- Boxes beside the owner ----------------------------------------------------------------------

class Boxes : public Followed {
 protected:
  using Clock = std::chrono::steady_clock;
  Boxes() { follower->open(); }
  /// Follows and enforces, as a box does. Returns the end of its lease, if it has one.
  std::optional<Instant> ask_for_lease() { return ask_for_lease(*follower); }
  static std::optional<Instant> ask_for_lease(Store& box) {
    try {
      box.follow();
      return box.confirm();
    } catch (const StoreError&) {
      return std::nullopt;  // The owner's Redis does not answer yet.
    }
  }
  /// Asks, while the owner looks at its store, as it always does. Returns the lease's end.
  Instant join() { return join(*follower); }
  Instant join(Store& box) {
    std::optional<Instant> until;
    EXPECT_TRUE(eventually([&] {
      try {
        owner->verify();
      } catch (const StoreError&) {
        return false;
      }
      until = ask_for_lease(box);
      return until.has_value();
    }));
    return until.value_or(Instant{});
  }
  /// Asks until the owner's Redis has the box, which must not have a lease.
  void ask_in_vain() {
    EXPECT_TRUE(eventually([&] {
      EXPECT_EQ(ask_for_lease(), std::nullopt);
      return ask_owner("hlen simco:questions") == "1\n";
    }));
  }
  /// Another box, which was not there before and has all that the owner's Redis has.
  std::unique_ptr<Store> another_box() {
    const std::string about = "hget simco:about batch";
    EXPECT_TRUE(eventually([&] { return ask(about) == ask_owner(about); }));
    auto other = open_at(replica);
    other->open();
    return other;
  }
  /// The first answer to its question, however long the owner's Redis takes for it.
  static bool is_given_a_lease(Store& box) {
    std::optional<Instant> until;
    EXPECT_TRUE(eventually([&] {
      try {
        box.follow();
        until = box.confirm();
        return true;
      } catch (const StoreError&) {
        return false;
      }
    }));
    return until.has_value();
  }
  /// The owner writes, on a thread of its own.
  std::future<Instant> write(std::uint32_t pid) {
    return std::async(std::launch::async, [this, pid] {
      owner->write({{entry(pid, "rule")}, {pid + 1, 2}});
      return Instant(Clock::now());
    });
  }
};

TEST_F(Boxes, TheOwnerWaitsForABoxWithALease) {
  for (std::uint32_t pid = 10; pid < 20; ++pid) {
    const Instant until = join();
    auto written = write(pid);
    EXPECT_EQ(next().batch.entries, std::vector{entry(pid, "rule")});
    const Instant asked = Clock::now();
    follower->confirm();
    // Not before the box has said it, nor, should this machine be that slow, before its lease is
    // over.
    const Instant returned = written.get();
    EXPECT_TRUE(returned >= asked || returned >= until);
  }
}

TEST_F(Boxes, TheOwnerGoesOnWhenTheLeaseIsOver) {
  const Instant until = join();
  EXPECT_GE(write(10).get(), until);
  const auto warnings = owner->take_warnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].contains("has not confirmed a change in time")) << warnings[0];
  EXPECT_EQ(ask_owner("hlen simco:questions"), "0\n");
  // It does not wait for a box without a lease.
  write(11).get();
  EXPECT_TRUE(owner->take_warnings().empty());
  join();
  EXPECT_EQ(ask_owner("hlen simco:questions"), "1\n");
}

TEST_F(Boxes, ABoxThatIsBehindHasNoLease) {
  write(10).get();
  EXPECT_EQ(follower->confirm(), std::nullopt);
  join();
}

// The owner answers with its next look.
TEST_F(Boxes, ABoxThatItsOwnerDoesNotKnowHasNoLease) {
  ask_in_vain();
  EXPECT_FALSE(owner->is_shared());
  join();
  EXPECT_TRUE(owner->is_shared());
}

// As one that alone cannot reach its Redis, where the box still asks.
TEST_F(Boxes, AnOwnerThatDoesNotLookGrantsNoLease) {
  Instant until = join();
  const Instant looked = Clock::now();
  while (const auto more = ask_for_lease()) until = *more;
  EXPECT_LE(until, looked + store::kLease);
  EXPECT_GE(Clock::now(), until);
  EXPECT_EQ(ask_owner("hlen simco:questions"), "1\n");
}

// Whether or not its Redis has it: the owner has not waited for the box that joins now.
TEST_F(Boxes, AnOwnerThatCouldNotStoreWritesBeforeABoxHasALease) {
  primary.program().signal(SIGSTOP);
  EXPECT_THROW(write(10).get(), StoreError);
  primary.program().signal(SIGCONT);
  ask_in_vain();
  owner->verify();
  EXPECT_EQ(ask_for_lease(), std::nullopt);
  owner->write({{entry(3, "three")}, {4, 2}, true});
  join();
}

// Its boxes may have leases from before.
TEST_F(Boxes, AnOwnerThatStartsAgainWaitsForEveryLease) {
  const Instant until = join();
  owner = open_at(primary);
  owner->open();
  EXPECT_TRUE(owner->is_shared());
  EXPECT_GE(write(10).get(), until);
}

// As it may have missed any number of changes.
TEST_F(Boxes, AnOwnerWhoseRedisWasEmptiedWaitsForEveryLease) {
  const Instant until = join();
  ask_owner("flushall");
  EXPECT_THROW(owner->write({{entry(3, "three")}, {4, 2}}), store::StoreLost);
  owner->write({{entry(3, "three")}, {4, 2}, true});
  EXPECT_GE(Clock::now(), until);
}

// The middlebox ends rules though that could not be stored.
TEST_F(Boxes, AWriteThatFailsWaitsForEveryLease) {
  const Instant until = join();
  owner->verify();
  primary.program().signal(SIGKILL);
  EXPECT_THROW(write(10).get(), StoreError);
  EXPECT_GE(Clock::now(), until);
}

// Its Redis refuses what the owner writes, and would renew leases.
TEST_F(Boxes, AnOwnerThatCannotStoreLeavesNoBoxALease) {
  const Instant until = join();
  owner->verify();
  ask_owner("hdel simco:rules 1");  // as an eviction does
  EXPECT_THROW(owner->write({{entry(2, {})}, {4, 2}}), store::StoreLost);
  EXPECT_GE(Clock::now(), until);
  EXPECT_EQ(follower->confirm(), std::nullopt);
  owner->write({{entry(3, "three")}, {4, 2}, true});
  join();
}

// It may have the batch or not, and old answers.
TEST_F(Boxes, ARedisThatGoesOnGrantsNoLeaseByAnEarlierBatch) {
  const Instant until = join();
  primary.program().signal(SIGSTOP);
  EXPECT_THROW(write(10).get(), StoreError);
  EXPECT_GE(Clock::now(), until);
  primary.program().signal(SIGCONT);
  EXPECT_FALSE(is_given_a_lease(*follower));
  owner->verify();
  EXPECT_EQ(ask_for_lease(), std::nullopt);
  owner->write({{entry(10, "rule")}, {11, 2}, true});
  join();
}

TEST_F(Boxes, ARedisThatHasGoneBackGrantsNoLease) {
  join();
  const auto batch = ask_owner("hget simco:about batch");
  write(10).get();
  ask_owner("hset simco:about batch " + batch);
  ask_owner("xtrim simco:changes maxlen 0");
  EXPECT_TRUE(eventually([&] { return ask("xlen simco:changes") == "0\n"; }));
  const auto other = another_box();
  EXPECT_FALSE(is_given_a_lease(*other));
  EXPECT_THROW(owner->verify(), store::StoreLost);
  EXPECT_FALSE(is_given_a_lease(*other));
  owner->write({{entry(10, "rule")}, {11, 2}, true});
  join(*other);
}

// It may have returned to the rules of an earlier owner.
TEST_F(Boxes, AnotherHistoryEndsTheLease) {
  join();
  ask_owner("hset simco:about owner another");
  EXPECT_TRUE(next().batch.all);
  EXPECT_EQ(follower->confirm(), std::nullopt);
}

// The owner would wait for it again and again.
TEST_F(Boxes, ABoxThatGetsNoLeasePauses) {
  const Instant began = Clock::now();
  ask_in_vain();
  const Instant joined = Clock::now();
  while (Clock::now() < joined + store::kFirstLeasePatience) ask_for_lease();
  EXPECT_EQ(ask_for_lease(), std::nullopt);
  ask_owner("del simco:questions");
  ask_in_vain();
  EXPECT_GE(Clock::now(), began + store::kFirstLeasePatience + std::chrono::seconds(1));
}

// As when another box takes its place while it waits for one that does not answer.
TEST_F(Boxes, AnOwnerThatWaitsSeesThatItIsOneNoLonger) {
  const Instant until = join();
  auto written = write(10);
  ask_owner("replicaof 127.0.0.1 1");
  try {
    EXPECT_GE(written.get(), until);  // a machine that is slow
  } catch (const store::StoreTaken&) {
  }
}

TEST_F(Boxes, ABoxWithoutItsOwnerHasNoLeaseForLong) {
  const Instant until = join();
  primary.program().signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] {
    try {
      follower->confirm();
      return false;
    } catch (const StoreError&) {
      return until <= Clock::now();
    }
  }));
  primary.program().signal(SIGCONT);
  join();
}

TEST_F(Boxes, ABoxThatBecomesTheOwnerDoesNotWaitForItself) {
  join();
  promote();
  EXPECT_TRUE(follower->follow().owned);
  EXPECT_EQ(ask("hlen simco:questions"), "0\n");
}

// Another program has put something else there.
TEST_F(Boxes, KeysOfAnotherTypeAreReplaced) {
  join();
  ask_owner("del simco:questions");
  ask_owner("set simco:questions x");
  ask_owner("set simco:confirmed x");
  EXPECT_THROW(write(10).get(), store::StoreLost);
  owner->write({{entry(10, "ten")}, {11, 2}, true});
  join();
  owner->take_warnings();
  auto written = write(11);
  next();
  follower->confirm();
  written.get();
}

}  // namespace
}  // namespace simco::test
