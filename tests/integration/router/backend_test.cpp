// The contract of every backend, inside one process.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/router/backend_fixture.hpp"

namespace simco::test {
namespace {

/// Command lines that choose a backend: one for each row of the table, and those in which a backend
/// is another one.
std::vector<Words> all_backends() {
  std::vector<Words> result;
  for (const auto& row : middlebox::backend_table()) {
    const Words interfaces{"--internal-if", "int0", "--external-if", "ext0"};
    const auto words =
        Words{"--backend", std::string(row.name)} + (row.has_interfaces ? interfaces : Words{});
    result.push_back(words);
    if (row.name == "nftables") result.push_back(words + Words{"--claim-table", "no"});
  }
  return result;
}

class AnyBackend : public testing::TestWithParam<Words> {
 protected:
  BackendFixture fixture{GetParam()};
  const Results done{ChangeResult::kDone};
};
INSTANTIATE_TEST_SUITE_P(Backends, AnyBackend, testing::ValuesIn(all_backends()),
                         [](const auto& words) {
                           const bool is_plain = words.param.back() != "no";
                           return words.param[1] + (is_plain ? "" : "_unclaimed");
                         });

TEST_P(AnyBackend, TellsWhatItIs) {
  EXPECT_EQ(fixture.backend->name(), GetParam()[1]);
  const auto can = fixture.backend->capabilities();
  EXPECT_TRUE(can.packet_filter);
  EXPECT_EQ(can.internal_versions & can.external_versions, 3);
  EXPECT_TRUE(fixture.backend->alive());
}

TEST_P(AnyBackend, ARuleLivesAndEnds) {
  EXPECT_EQ(fixture.apply(change(kAdd, 1, "10.0.0.2:5004", "192.0.2.2:6004")), done);
  EXPECT_EQ(fixture.apply(change(kSetLifetime, 1, "10.0.0.2:5004", "192.0.2.2:6004", 600)), done);
  EXPECT_EQ(fixture.apply(change(kSetLifetime, 1, "10.0.0.2:5004", "192.0.2.2:6004", 1)), done);
  EXPECT_EQ(fixture.apply(change(kRemove, 1, "10.0.0.2:5004", "192.0.2.2:6004")), done);
  EXPECT_EQ(fixture.apply(change(kAdd, 2, "10.0.0.2:5004", "192.0.2.2:6004")), done);
}

TEST_P(AnyBackend, AReservationBecomesARule) {
  auto reserve = change(kAdd, 1, "any", "any");
  reserve.after.kind = rule::RuleKind::kReserve;
  EXPECT_EQ(fixture.apply(reserve), done);
  EXPECT_EQ(fixture.apply(change(kReplace, 1, "10.0.0.2:5004", "192.0.2.2:6004")), done);
  EXPECT_EQ(fixture.apply(change(kRemove, 1, "10.0.0.2:5004", "192.0.2.2:6004")), done);
}

TEST_P(AnyBackend, ADisableRuleLivesAndEnds) {
  for (const auto kind : {kAdd, kSetLifetime, kRemove}) {
    auto disable = change(kind, 1, "any", "192.0.2.0/24");
    disable.before.kind = disable.after.kind = rule::RuleKind::kDisable;
    EXPECT_EQ(fixture.apply(disable), done);
  }
}

TEST_P(AnyBackend, ABatchIsAnsweredChangeByChange) {
  std::vector<RuleChange> batch;
  for (std::uint32_t i = 1; i <= 3000; ++i) {
    batch.push_back(change(kAdd, i, "10.0.0.2:" + std::to_string(5000 + i), "192.0.2.2:6004"));
  }
  EXPECT_EQ(fixture.apply(batch), Results(3000, ChangeResult::kDone));
  for (auto& one : batch) one = of(kRemove, one.after);
  EXPECT_EQ(fixture.apply(batch), Results(3000, ChangeResult::kDone));
}

TEST_P(AnyBackend, OneBatchMayDoManyThingsToOneRule) {
  const std::string in = "10.0.0.2:5004";
  const std::string out = "192.0.2.2:6004";
  EXPECT_EQ(fixture.apply({change(kAdd, 1, in, out), change(kSetLifetime, 1, in, out, 9),
                           change(kRemove, 1, in, out), change(kAdd, 2, in, out)}),
            Results(4, ChangeResult::kDone));
  EXPECT_EQ(fixture.apply({change(kAdd, 3, in, out), change(kRemove, 2, in, out),
                           change(kRemove, 3, in, out)}),
            Results(3, ChangeResult::kDone));
}

TEST_P(AnyBackend, ARuleThatHasExpiredCanBeRemoved) {
  const std::string in = "10.0.0.2:5004";
  const std::string out = "192.0.2.2:6004";
  for (const int late_ms : {-30, -5, 0, 3, 10, 25, 100}) {
    EXPECT_EQ(fixture.apply(change(kAdd, 1, in, out, 1)), done);
    std::this_thread::sleep_for(std::chrono::milliseconds(1000 + late_ms));
    EXPECT_EQ(fixture.apply(change(kRemove, 1, in, out)), done) << late_ms;
  }
}

TEST_P(AnyBackend, AnEmptyBatchIsAnswered) {
  EXPECT_EQ(fixture.apply(std::vector<RuleChange>{}), Results());
}

}  // namespace
}  // namespace simco::test
