// The lease of a box that stands by, and how the owner waits for it, with real servers.
#include <future>
#include <optional>
#include <set>

#include "middlebox/store/limits.hpp"
#include "tests/support/followed_store.hpp"

namespace simco::test {
namespace {

using store::Store;
using store::StoreError;

class Boxes : public Followed {
 protected:
  using Clock = std::chrono::steady_clock;
  Boxes() { follower->open(); }
  /// Follows and enforces, as a box does. Returns the end of its lease, if it has one.
  std::optional<Instant> ask_for_lease() { return ask_for_lease(*follower); }
  static std::optional<Instant> ask_for_lease(Store& box) {
    try {
      box.follow();
    } catch (const StoreError&) {
      return std::nullopt;  // Its Redis does not answer yet.
    }
    return confirm(box);
  }
  static std::optional<Instant> confirm(Store& box) {
    try {
      return box.confirm();
    } catch (const StoreError&) {
      return std::nullopt;  // The owner's Redis does not answer yet.
    }
  }
  /// The owner looks at its store. Returns false if that does not answer, or has lost something.
  bool look() {
    try {
      owner->verify();
      return true;
    } catch (const StoreError&) {
      return false;
    }
  }
  /// Asks, while the owner looks at its store, as it always does. Returns the lease's end.
  Instant join() { return join(*follower); }
  Instant join(Store& box) {
    std::optional<Instant> until;
    EXPECT_TRUE(eventually([&] {
      if (!look()) return false;
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
  /// It asks again and again, while the owner looks at its store, and has no lease.
  void is_given_none(Store& box) {
    std::set<std::string> questions;
    EXPECT_TRUE(eventually([&] {
      look();
      EXPECT_EQ(ask_for_lease(box), std::nullopt);
      questions.insert(ask_owner("hvals simco:questions"));
      return questions.size() > 5;
    }));
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
    confirm(*follower);
    // Not before the box has said it, nor, should this machine be that slow, before its lease is
    // over.
    const Instant returned = written.get();
    EXPECT_TRUE(returned >= asked || returned >= until);
  }
}

TEST_F(Boxes, TheOwnerWaitsForEachOfSeveralBoxes) {
  const auto silent = another_box();
  join();
  const Instant until = join(*silent);
  auto written = write(10);
  EXPECT_EQ(next().batch.entries, std::vector{entry(10, "rule")});
  confirm(*follower);
  EXPECT_GE(written.get(), until);
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

// Though the owner answers it while it waits.
TEST_F(Boxes, ABoxThatIsBehindHasNoLease) {
  Instant until = join();
  auto written = write(10);
  while (written.wait_for(std::chrono::milliseconds()) != std::future_status::ready) {
    until = confirm(*follower).value_or(until);
  }
  EXPECT_GE(written.get(), until);
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
  while (Clock::now() < until) until = ask_for_lease().value_or(until);
  EXPECT_LE(until, looked + store::kLease);
  EXPECT_EQ(ask_owner("hlen simco:questions"), "1\n");
}

// Whether or not its Redis has it: the owner has not waited for the box that joins now.
TEST_F(Boxes, AnOwnerThatCouldNotStoreWritesBeforeABoxHasALease) {
  primary.program().signal(SIGSTOP);
  EXPECT_THROW(write(10).get(), StoreError);
  primary.program().signal(SIGCONT);
  is_given_none(*follower);
  owner->write({{entry(3, "three")}, {4, 2}, true});
  join();
}

// As when it is upgraded.
TEST_F(Boxes, AnOwnerThatLeavesLeavesTheLeases) {
  Instant until{};
  // A machine that is slow enough may cost the box its lease, which does not come back.
  EXPECT_TRUE(eventually([&] {
    owner = open_at(primary);
    owner->open();
    join();
    owner->leave();
    const Instant left = Clock::now();
    while (const auto more = ask_for_lease()) {
      until = *more;
      if (until > left + 2 * store::kLease) return true;
    }
    return false;
  }));
  owner = open_at(primary);
  owner->open();
  EXPECT_GE(write(10).get(), until);
}

TEST_F(Boxes, AnOwnerThatLeavesWithSomethingToStoreLeavesNoLease) {
  join();
  primary.program().signal(SIGSTOP);
  EXPECT_THROW(write(10).get(), StoreError);
  owner->leave();  // without a connection
  primary.program().signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return look(); }));
  owner->leave();
  is_given_none(*follower);
}

// It has seen a state by which somebody else is the owner.
TEST_F(Boxes, TheStateOfAnOwnerBeforeIsAnEarlierOne) {
  const auto before = ask_owner("hget simco:about owner");
  // Again and again: what it has returned to does not know of the owners since.
  for (int time = 0; time < 3; ++time) {
    for (int later = 0; later < 2; ++later) {
      owner = open_at(primary);
      owner->open();
    }
    ask_owner("hset simco:about owner " + before);
    ask_owner("hdel simco:about earlier");
    EXPECT_THROW(owner->verify(), store::StoreLost);
    owner->write({{entry(3, "three")}, {4, 2}, true});
    owner->verify();
  }
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
  is_given_none(*follower);
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
  is_given_none(*follower);
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
  EXPECT_THROW(owner->verify(), store::StoreLost);
  is_given_none(*other);
  owner->write({{entry(10, "rule")}, {11, 2}, true});
  join(*other);
}

// It may have returned to the rules of an earlier owner.
TEST_F(Boxes, AnotherHistoryEndsTheLease) {
  join();
  ask_owner("hset simco:about owner another");
  EXPECT_TRUE(next().batch.all);
  EXPECT_EQ(confirm(*follower), std::nullopt);
}

// The owner would wait for it again and again.
TEST_F(Boxes, ABoxThatGetsNoLeasePauses) {
  write(10).get();
  std::string asked;
  Instant asked_at = Clock::now();
  EXPECT_TRUE(eventually([&] {
    owner->verify();
    EXPECT_EQ(confirm(*follower), std::nullopt);  // it does not catch up
    if (asked != ask_owner("hvals simco:questions")) asked_at = Clock::now();
    asked = ask_owner("hvals simco:questions");
    return Clock::now() - asked_at >= 8 * store::kLeaseRenewal;
  }));
}

// As when another box takes its place while it waits for one that does not answer.
TEST_F(Boxes, AnOwnerThatWaitsSeesThatItIsOneNoLonger) {
  // A machine that is slow enough tells it when the lease is over.
  EXPECT_TRUE(eventually([&] {
    ask_owner("replicaof no one");
    join();
    auto written = write(10);
    ask_owner("replicaof 127.0.0.1 1");
    try {
      written.get();
      return false;
    } catch (const store::StoreTaken&) {
      return true;
    }
  }));
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
  EXPECT_TRUE(follow().owned);
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
  confirm(*follower);
  written.get();
}

}  // namespace
}  // namespace simco::test
