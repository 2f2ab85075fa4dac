// A middlebox that stands by: it enforces what the store of another one has, and takes over.
#include <gtest/gtest.h>

#include "middlebox/commit/journal.hpp"
#include "middlebox/core/core.hpp"
#include "middlebox/observe/metrics.hpp"
#include "simco/wire/ip.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/pipeline_fixture.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;
using rule::ChangeResult;
using rule::RuleChange;
using rule::RuleKind;
using store::Entry;
using Kind = RuleChange::Kind;

/// The second box, in virtual time, with a wall clock that begins at 0.
class Standby final : private Core::Host,
                      private Clock,
                      private Journal::Writer,
                      private Journal::Monitor {
 public:
  explicit Standby(std::vector<Entry> entries = {}, const CoreOptions& options = {},
                   Metrics* metrics = nullptr)
      : core(options, clock_, backend, &journal_, metrics, *this) {
    store::Contents contents{std::move(entries), {10, 10}, false};
    core.start(contents, "the store");
    backend.batches.clear();
  }

  /// The other box has written these.
  void hear(std::vector<Entry> entries, bool all = false) {
    alike.reset();
    core.follow({{std::move(entries), {20, 20}, all}, false}, [this](bool is) { alike = is; });
  }
  void take_over() { core.follow({.batch = {}, .owned = true}, nullptr); }
  std::vector<Kind> kinds() const {
    std::vector<Kind> result;
    for (const auto& batch : backend.batches) {
      for (const auto& change : batch) result.push_back(change.kind);
    }
    return result;
  }
  const RuleChange& last_change() const { return backend.batches.back().back(); }

  test::VirtualTime time;
  test::ScriptedBackend backend;
  std::vector<Entry> written;
  std::vector<std::string> warnings;
  bool taken_over = false;
  std::optional<bool> alike;  ///< if the last changes are carried out: all are enforced

 private:
  Instant now() const override { return time.now(); }
  std::int64_t wall_ms() const override { return (time.now() - begin_) / 1ms; }
  void wake_at(Instant at) override {
    time.at(at, [this, wish = ++wishes_] {
      if (wish == wishes_) core.on_deadline();
    });
  }
  ChallengeOctets make_challenge() override { return {}; }
  void log(Core::LogLevel level, const std::string& line) override {
    if (level == Core::LogLevel::kWarning) warnings.push_back(line);
  }
  void on_became_owner() override { taken_over = true; }
  void write(store::Batch batch, Done done) override {
    for (auto& entry : batch.entries) written.push_back(std::move(entry));
    time.after(1ms, [done = std::move(done)] { done(std::nullopt); });
  }
  void on_store_failing(const std::string&) override {}
  void on_store_working() override {}
  void on_store_taken() override {}
  void on_store_lost() override {}

  const Instant begin_ = time.now();
  std::uint64_t wishes_ = 0;
  Clock& clock_ = *this;
  Journal journal_{*this, clock_, *this};

 public:
  Core core;
};

/// A rule as the store of the other box has it, which ends at `end` by the wall clock.
Entry stored(std::uint32_t pid, std::uint16_t port, std::chrono::milliseconds end = 600s,
             RuleKind kind = RuleKind::kEnable, const std::optional<AddressTuple>& outside = {}) {
  const auto request = test::pinhole(port);
  rule::RuleRecord record;
  record.pid = {pid};
  record.group = {7};
  record.owner_name = "proxy";
  record.creating_tid = {pid};
  record.kind = kind;
  if (kind != RuleKind::kReserve) record.internal = request.internal;
  record.external = request.external;
  record.outside = outside;
  const Instant epoch{};
  record.expires_at = epoch + end;
  return {{pid}, encode_rule(record, epoch, 0)};
}

CoreOptions nat() {
  CoreOptions options;
  options.nat.mode = policy::Mode::kTraditionalNat;
  options.nat.outside = {{*parse_address("198.51.100.1"), 1}};
  return options;
}
/// A rule of a NAT, which has one port for all of them.
Entry translated(std::uint32_t pid, std::uint16_t port) {
  return stored(pid, port, 600s, RuleKind::kEnable,
                test::ipv4(Location::kOutside, {198, 51, 100, 1}, 40'000));
}
Entry gone(std::uint32_t pid) { return {{pid}, {}}; }

TEST(Standby, BeginsWithWhatTheStoreHas) {
  Standby box({stored(1, 5000), stored(2, 5002)});
  EXPECT_EQ(box.core.rule_count(), 2U);
  EXPECT_TRUE(box.core.following());
}

TEST(Standby, AddsAndRemovesAsTheOtherBoxDoes) {
  Standby box({stored(1, 5000)});
  box.hear({stored(2, 5002), stored(3, 5004)});
  box.hear({gone(1), gone(2), gone(9)});
  EXPECT_EQ(box.kinds(), (std::vector{Kind::kAdd, Kind::kAdd, Kind::kRemove, Kind::kRemove}));
  EXPECT_EQ(box.core.rule_count(), 1U);
}

TEST(Standby, ChangesALifetimeInPlace) {
  Standby box({stored(1, 5000, 600s)});
  box.time.run_for(10s);
  box.hear({stored(1, 5000, 900s)});
  EXPECT_EQ(box.kinds(), std::vector{Kind::kSetLifetime});
  EXPECT_EQ(box.last_change().after.expires_at, box.time.now() + 890s);
  box.hear({stored(1, 5000, 900s)});
  EXPECT_EQ(box.kinds().size(), 1U) << "nothing has changed";
}

TEST(Standby, ReplacesARuleThatDiffers) {
  Standby box({stored(1, 5000, 600s, RuleKind::kReserve), stored(2, 5002)});
  box.hear({stored(1, 5000), stored(2, 5012)});
  EXPECT_EQ(box.kinds(), (std::vector{Kind::kRemove, Kind::kRemove, Kind::kAdd, Kind::kAdd}));
  EXPECT_EQ(box.last_change().after.internal.port, 5012);
}

// What the store had missed of it comes with its end.
TEST(Standby, TheLastEntryOfARuleCounts) {
  Standby box({stored(1, 5000, 600s)});
  box.hear({stored(1, 5000, 900s), stored(2, 5002), gone(1), stored(2, 5002, 900s)});
  EXPECT_EQ(box.kinds(), (std::vector{Kind::kRemove, Kind::kAdd}));
  EXPECT_EQ(box.last_change().after.expires_at, box.time.now() + 900s);
}

// While the store of the other box failed, a rule ended, and another one got its ports.
TEST(Standby, ARuleGetsThePortsOfOneThatEndsWithIt) {
  Standby box({translated(1, 5000)}, nat());
  box.hear({translated(2, 5002), gone(1)});
  EXPECT_EQ(box.kinds(), (std::vector{Kind::kRemove, Kind::kAdd}));
  EXPECT_TRUE(box.warnings.empty());
}

TEST(Standby, KnowsFromAllRulesWhichAreGone) {
  Standby box({stored(1, 5000), stored(2, 5002)});
  box.hear({stored(2, 5002), stored(3, 5004)}, true);
  EXPECT_EQ(box.kinds(), (std::vector{Kind::kRemove, Kind::kAdd}));
}

// The other box has stored it and may not be able to enforce it: what it would end goes on then.
TEST(Standby, ADisableRuleEndsNothingUntilTheStoreIsIts) {
  Standby box({stored(1, 5000), stored(2, 5002)});
  box.hear({stored(3, 5000, 600s, RuleKind::kDisable)});
  box.time.run_for(1s);
  EXPECT_EQ(box.kinds(), std::vector{Kind::kAdd});
  box.hear({gone(3)});
  EXPECT_EQ(box.core.rule_count(), 2U);
  box.hear({stored(4, 5000, 600s, RuleKind::kDisable)});
  box.take_over();
  box.time.run_for(1s);
  EXPECT_EQ(box.core.rule_count(), 2U);
  EXPECT_EQ(box.last_change().before.pid.value, 1U);
}

TEST(Standby, WritesNothingUntilTheStoreIsIts) {
  Standby box({stored(1, 5000, 5s), stored(2, 5002)});
  box.hear({stored(3, 5004, 5s), stored(4, 5006, 5s)});
  box.time.run_for(6s);
  EXPECT_EQ(box.core.rule_count(), 1U);
  box.hear({gone(3)});
  EXPECT_TRUE(box.written.empty());
  EXPECT_FALSE(box.taken_over);
  box.take_over();
  EXPECT_TRUE(box.taken_over);
  EXPECT_FALSE(box.core.following());
  // The rules that have ended here, and that the other box did not live to remove.
  box.time.run_for(5s);
  EXPECT_EQ(box.written, (std::vector{gone(1), gone(4)}));
}

// The other box has extended a rule in time, and this one hears of it late.
TEST(Standby, ARuleThatHasEndedHereComesBack) {
  Standby box({stored(1, 5000, 5s)});
  box.time.run_for(6s);
  EXPECT_EQ(box.core.rule_count(), 0U);
  box.hear({stored(1, 5000, 60s)});
  EXPECT_EQ(box.core.rule_count(), 1U);
  box.take_over();
  box.time.run_for(5s);
  EXPECT_TRUE(box.written.empty());
}

TEST(Standby, NamesARuleThatItCannotEnforce) {
  Standby box;
  box.backend.automatic = false;
  box.hear({stored(1, 5000)});
  box.take_over();
  EXPECT_FALSE(box.taken_over) << "a change is under way";
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_TRUE(box.taken_over);
  ASSERT_EQ(box.warnings.size(), 1U);
  EXPECT_TRUE(box.warnings[0].starts_with("could not take over rule 1: ")) << box.warnings[0];
  box.backend.automatic = true;
  box.time.run_for(5s);
  EXPECT_EQ(box.written, std::vector{gone(1)});
}

// The kernel has no memory for a moment: a pinhole must not stay open because of it.
TEST(Standby, WhatTheBackendRefusesIsTriedAgain) {
  Standby box({stored(1, 5000), stored(2, 5002)});
  box.backend.automatic = false;
  box.hear({gone(1), stored(2, 5002, 900s), stored(3, 5004)});
  box.backend.finish(
      {ChangeResult::kNoResources, ChangeResult::kNoResources, ChangeResult::kNoResources});
  EXPECT_EQ(box.core.rule_count(), 2U);
  box.time.run_for(2s);
  while (box.backend.busy()) {
    box.backend.finish(
        {ChangeResult::kNoResources, ChangeResult::kNoResources, ChangeResult::kNoResources});
  }
  EXPECT_LE(box.warnings.size(), 2U) << "one for each rule";
  box.backend.automatic = true;
  box.backend.batches.clear();
  box.time.run_for(30s);
  auto kinds = box.kinds();
  std::ranges::sort(kinds);
  EXPECT_EQ(kinds, (std::vector{Kind::kAdd, Kind::kSetLifetime, Kind::kRemove}));
  EXPECT_EQ(box.core.rule_count(), 2U);
  box.take_over();
  box.time.run_for(5s);
  EXPECT_TRUE(box.written.empty());
}

// What the owner of the store may count on.
TEST(Standby, TellsWhenItEnforcesAllThatItHasHeard) {
  Standby box;
  box.hear({});
  EXPECT_EQ(box.alike, true);
  box.backend.automatic = false;
  box.hear({stored(1, 5000), stored(2, 5002)});
  EXPECT_EQ(box.alike, std::nullopt) << "a change is under way";
  box.backend.finish({ChangeResult::kNoResources});
  EXPECT_EQ(box.alike, false);
  box.backend.automatic = true;
  box.hear({gone(2)});
  EXPECT_EQ(box.alike, false);
  box.time.run_for(2s);
  box.hear({});
  EXPECT_EQ(box.alike, true);
  box.backend.automatic = false;
  box.hear({gone(1)});
  box.backend.finish({ChangeResult::kNoResources});
  EXPECT_EQ(box.alike, false) << "the pinhole is open";
  box.backend.automatic = true;
  box.time.run_for(30s);
  box.hear({{{3}, "damaged"}});
  EXPECT_EQ(box.alike, false);
  box.hear({gone(3)});
  EXPECT_EQ(box.alike, true);
}

TEST(Standby, PacketsPassWhileThereIsALease) {
  Standby box({stored(1, 5000)});
  const Instant until = box.time.now() + 1s;
  box.core.lease(until);
  box.take_over();
  box.core.lease(until);
  EXPECT_EQ(box.backend.leases, (std::vector{Instant{}, until, Instant::max()}));
}

// Redis may have returned to the rules of an earlier owner.
TEST(Standby, ALeaseEndsWhenAllRulesAreReadAgain) {
  Standby box({stored(1, 5000)});
  const Instant until = box.time.now() + 1s;
  box.core.lease(until);
  box.hear({stored(1, 5000)});
  EXPECT_EQ(box.backend.leases, (std::vector{Instant{}, until}));
  box.hear({stored(1, 5000)}, true);
  EXPECT_EQ(box.backend.leases, (std::vector{Instant{}, until, Instant{}}));
}

// Though its Redis stands still, so that there is nothing to do.
TEST(Standby, ItsMetricSaysThatItsLeaseIsOver) {
  Metrics metrics;
  Standby box({stored(1, 5000)}, {}, &metrics);
  const Instant until = box.time.now() + 1s;
  box.core.lease(until);
  box.hear({stored(1, 5000)});
  EXPECT_TRUE(metrics.text().contains("simco_stands_by 1\n"));
  while (box.time.now() < until && box.time.step()) {
  }
  EXPECT_EQ(box.time.now(), until);
  EXPECT_TRUE(metrics.text().contains("simco_stands_by 0\n"));
}

TEST(Standby, NamesARuleThatItCannotRead) {
  Standby box;
  box.hear({{{1}, "damaged"}, stored(2, 5002)});
  EXPECT_EQ(box.core.rule_count(), 1U);
  EXPECT_EQ(box.warnings.size(), 1U);
}

}  // namespace
}  // namespace simco::middlebox
