// The middlebox core against a plain model: long random runs of all transactions from several
// agents with different rights, on each kind of middlebox, comparing every reply, every event and
// the rules that are left.
#include <gtest/gtest.h>

#include "tests/unit/policy/random_run.hpp"

namespace simco::policy {
namespace {

class EngineModel : public testing::TestWithParam<std::tuple<Mode, unsigned>> {};

TEST_P(EngineModel, AgreesOverALongRandomRun) {
  const auto [mode, seed] = GetParam();
  RandomRun run(mode, seed);
  for (int step = 0; step < 60'000; ++step) {
    run.step();
    ASSERT_FALSE(HasFailure()) << "step " << step;
  }
  EXPECT_GT(run.ended, 50U);
  if (mode != Mode::kFirewall) {
    EXPECT_GT(run.shared, 25U);
  }
  for (const char* reply : {"PER reply", "PRR reply", "PDR reply", "PLC reply", "PRD reply",
                            "PES reply", "PRS reply", "PDS reply", "PRL reply"}) {
    EXPECT_GT(run.outcomes[reply], 30) << reply;
  }
}

INSTANTIATE_TEST_SUITE_P(, EngineModel,
                         testing::Combine(testing::Values(Mode::kFirewall, Mode::kTraditionalNat,
                                                          Mode::kTwiceNat),
                                          testing::Values(1U, 2U)));

}  // namespace
}  // namespace simco::policy
