#include "loadgen/report.hpp"

#include <gtest/gtest.h>

namespace simco::loadgen {
namespace {

TEST(Progress, TimesAreForPeople) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(7.2), "8 s");
  EXPECT_EQ(duration_text(119), "119 s");
  EXPECT_EQ(duration_text(125), "2 min 5 s");
  EXPECT_EQ(duration_text(12'000), "3 h 20 min");
  EXPECT_EQ(duration_text(1e9), "30 years or more");
}

TEST(Progress, APlanSaysHowLongItTakes) {
  GeneratorOptions options;
  options.rate = 50;
  EXPECT_EQ(plan_text(options), "50/s: about 10 s");
  options.warmup = 100;
  EXPECT_EQ(plan_text(options), "50/s after 100 to warm up: about 12 s");
  options.count = 10'000;
  EXPECT_EQ(plan_text(options),
            "10000 transactions at 50/s after 100 to warm up: about 3 min 22 s");
}

TEST(Progress, ALineCoversTheOneBefore) {
  const Generator::Progress longest{
      .elapsed_s = 119, .offered = 8, .finished = 7, .in_flight = 1, .left_s = 7300};
  const Generator::Progress shortest{
      .elapsed_s = 121, .offered = 9, .finished = 9, .in_flight = 0, .left_s = 0};
  EXPECT_TRUE(progress_text(longest).contains("1 in flight"));
  EXPECT_TRUE(progress_text(longest).ends_with("  2 h 1 min left")) << progress_text(longest);
  EXPECT_EQ(progress_text(longest).size(), progress_text(shortest).size());
}

}  // namespace
}  // namespace simco::loadgen
