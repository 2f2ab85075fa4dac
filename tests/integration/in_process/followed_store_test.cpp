// A replica of Redis that a second middlebox follows, with real servers: what it learns, and how it
// becomes the owner.
#include "tests/support/followed_store.hpp"

#include <fstream>

#include "tests/support/folder.hpp"
#include "tests/support/port.hpp"

namespace simco::test {
namespace {

using store::Counters;
using store::StoreError;

TEST_F(Followed, TellsWhatHasChanged) {
  EXPECT_FALSE(owner->is_copy());
  EXPECT_TRUE(follower->is_copy());
  const auto contents = follower->open();
  EXPECT_FALSE(contents.owned);
  EXPECT_EQ(sorted(contents.entries), (std::vector{entry(1, "one"), entry(2, "two")}));
  EXPECT_EQ(contents.counters, (Counters{3, 2}));
  EXPECT_TRUE(follow().batch.entries.empty());

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
  EXPECT_TRUE(eventually([&] { return ask("hexists simco:rules 2") == "0\n"; }));
  const auto changes = next();
  EXPECT_TRUE(changes.batch.all);
  EXPECT_EQ(sorted(changes.batch.entries), (std::vector{entry(1, "one"), entry(3, "three")}));
}

TEST_F(Followed, BecomesTheStoreOfTheFollower) {
  follower->open();
  owner->write({{entry(3, "three")}, {4, 2}});
  EXPECT_TRUE(eventually([&] { return ask("hlen simco:rules") == "3\n"; }));
  promote();
  const auto changes = follow();
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
  std::ofstream(configuration)
      << "port " << free_port() << "\ndir " << folder.path << "\nsentinel monitor rules 127.0.0.1 "
      << primary.port()
      << " 1\nsentinel down-after-milliseconds rules 500"
      // A failover that fails is repeated after twice this, by default after minutes.
      << "\nsentinel failover-timeout rules 5000\n";
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
  const auto changes = follow();
  EXPECT_FALSE(changes.batch.all);
  EXPECT_TRUE(changes.batch.entries.empty());
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
    const bool read_all = !at_once && follow().batch.all;
    EXPECT_FALSE(read_all);
    owner->write({{entry(3, "three")}, {4, 2}});
    const auto changes = next();
    EXPECT_FALSE(changes.batch.all);
    EXPECT_EQ(changes.batch.entries, std::vector{entry(3, "three")});
  }
}

TEST_F(Followed, SaysIfItHasNoConnection) {
  follower->open();
  EXPECT_TRUE(eventually([&] { return follow().current; }));
  ask("replicaof 127.0.0.1 1");
  EXPECT_FALSE(follow().current);
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
  const auto nothing = follow();
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
  const auto ours = follow();
  EXPECT_TRUE(ours.owned);
  EXPECT_FALSE(ours.batch.all);
  EXPECT_THROW(follower->write({{entry(4, "four")}, {5, 2}}), store::StoreLost);
  follower->write({{entry(1, "one"), entry(4, "four")}, {5, 2}, true});
}

}  // namespace
}  // namespace simco::test
