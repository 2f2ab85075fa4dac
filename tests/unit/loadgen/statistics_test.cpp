#include "loadgen/statistics.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "loadgen/report.hpp"
#include "loadgen/schedule.hpp"

namespace simco::loadgen {
namespace {

TEST(Histogram, QuantilesAreWithinAThousandthOfTheTruth) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> times(13, 2);  // around 0.4 ms, with a long tail
  Histogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<std::int64_t>(times(random)));
    histogram.add(values.back());
  }
  std::ranges::sort(values);
  for (const double fraction : {0.001, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(fraction * 100'000)) - 1;
    const auto truth = static_cast<double>(values[rank]);
    EXPECT_GE(static_cast<double>(histogram.quantile(fraction)), truth);
    EXPECT_LE(static_cast<double>(histogram.quantile(fraction)), truth * 1.0005 + 1);
  }
}

TEST(Histogram, SmallValuesAreExactAndLargeOnesAreKept) {
  for (const std::int64_t value : {0L, 1L, 2047L, 2048L, 4095L}) {
    Histogram histogram;
    histogram.add(value);
    EXPECT_EQ(histogram.quantile(1), value);
  }
  Histogram histogram;
  histogram.add(-5);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  histogram.add(Histogram::kValueMax + 1);
  EXPECT_EQ(histogram.quantile(1), Histogram::kValueMax);
  EXPECT_EQ(Histogram().quantile(0.5), 0);
}

TEST(Distribution, AgreesWithTheDefinitions) {
  Distribution distribution;
  std::vector<double> values;
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    const auto ns = static_cast<std::int64_t>(random() % 5'000'000);
    distribution.add(ns);
    values.push_back(static_cast<double>(ns) / 1e6);
  }
  double mean = 0;
  for (const double value : values) mean += value / 1000;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const Summary summary = distribution.summary();
  EXPECT_EQ(summary.count, 1000U);
  EXPECT_NEAR(summary.mean, mean, 1e-9);
  EXPECT_NEAR(summary.stddev, std::sqrt(squares / 999), 1e-9);
  EXPECT_EQ(summary.min, *std::ranges::min_element(values));
  EXPECT_EQ(summary.max, *std::ranges::max_element(values));
}

TEST(Statistics, StudentsTAsInTheTables) {
  EXPECT_NEAR(half_width95(1, 2), 12.706 / std::sqrt(2), 1e-3);
  EXPECT_NEAR(half_width95(1, 11), 2.228 / std::sqrt(11), 1e-3);
  EXPECT_NEAR(half_width95(2, 1'000'000), 2 * 1.960 / 1000, 1e-5);
  EXPECT_EQ(half_width95(1, 1), 0);
}

/// First-order autoregressive times of mean 10: neighbours are correlated by `correlation`.
class Correlated {
 public:
  Correlated(double correlation, std::uint64_t seed) : correlation_(correlation), random_(seed) {}
  double next() {
    state_ = correlation_ * state_ + noise_(random_);
    return 10 + state_;
  }

 private:
  double correlation_;
  std::mt19937_64 random_;
  std::normal_distribution<double> noise_;
  double state_ = 0;
};

/// Shares of runs whose interval, by batch means and by the naive formula, covers the true mean.
std::pair<double, double> coverage(double correlation) {
  constexpr int kRuns = 400;
  int batch = 0;
  int naive = 0;
  for (int run = 0; run < kRuns; ++run) {
    Correlated times(correlation, static_cast<std::uint64_t>(run));
    BatchMeans means;
    double sum = 0;
    double squares = 0;
    constexpr int kCount = 20'000;
    for (int i = 0; i < kCount; ++i) {
      const double value = times.next();
      means.add(value);
      sum += value;
      squares += value * value;
    }
    const double mean = sum / kCount;
    const double stddev = std::sqrt((squares - sum * mean) / (kCount - 1));
    const double error = std::abs(mean - 10);
    batch += error <= means.interval95()->half_width ? 1 : 0;
    naive += error <= half_width95(stddev, kCount) ? 1 : 0;
  }
  return {batch / double{kRuns}, naive / double{kRuns}};
}

TEST(BatchMeans, CoverTheMeanAlsoWhenValuesAreCorrelated) {
  const auto [batch_independent, naive_independent] = coverage(0);
  EXPECT_GT(batch_independent, 0.91);
  EXPECT_GT(naive_independent, 0.91);
  const auto [batch, naive] = coverage(0.95);
  EXPECT_GT(batch, 0.90);
  EXPECT_LT(naive, 0.50);  // the textbook interval would be wrong more often than right
}

TEST(BatchMeans, SayNothingAboutTooFewValues) {
  BatchMeans means;
  EXPECT_FALSE(means.interval95());
  means.add(1);
  EXPECT_FALSE(means.interval95());
  means.add(2);
  EXPECT_TRUE(means.interval95());
}

TEST(Schedule, ConstantArrivals) {
  Schedule schedule(Arrivals::kConstant, 1000, 1);
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(schedule.next_ns(), i * 1'000'000);
    schedule.advance();
  }
}

TEST(Schedule, AFileGivesDueTimes) {
  const std::string path = testing::TempDir() + "due-" + std::to_string(::getpid());
  const auto read = [&](const char* text) {
    std::ofstream(path) << text;
    return read_due_times(path);
  };
  const auto due = read("0\n0.5\n0.5\n1e1\n");
  ASSERT_TRUE(due) << due.error();
  EXPECT_EQ(*due, (std::vector<std::int64_t>{0, 500'000'000, 500'000'000, 10'000'000'000}));
  Schedule schedule(*due);
  for (const auto time : *due) {
    EXPECT_EQ(schedule.next_ns(), time);
    schedule.advance();
  }
  EXPECT_EQ(schedule.next_ns(), due->back());
  EXPECT_EQ(read("").error(), path + " has no lines");
  for (const char* bad :
       {"1\n0.9\n", "1\nx\n", "1\n2 3\n", "1\n\n", "1\n-1\n", "1\n1e10\n", "1\nnan\n"}) {
    const auto result = read(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_TRUE(result.error().starts_with(path + ":2: expected seconds")) << result.error();
  }
  ::unlink(path.c_str());
  EXPECT_FALSE(read_due_times(path));
}

TEST(Schedule, PoissonArrivalsHaveExponentialGapsAndTheirSeed) {
  Schedule schedule(Arrivals::kPoisson, 1000, 42);
  Schedule same(Arrivals::kPoisson, 1000, 42);
  Schedule other(Arrivals::kPoisson, 1000, 43);
  EXPECT_NE(schedule.next_ns(), other.next_ns());
  std::int64_t last = 0;
  double sum = 0;
  double squares = 0;
  int above_mean = 0;
  constexpr int kCount = 200'000;
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(schedule.next_ns(), same.next_ns());
    const double gap = static_cast<double>(schedule.next_ns() - last) / 1e6;
    last = schedule.next_ns();
    sum += gap;
    squares += gap * gap;
    above_mean += gap > 1 ? 1 : 0;
    schedule.advance();
    same.advance();
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 1, 0.02);  // as large as the mean
  EXPECT_NEAR(above_mean / double{kCount}, std::exp(-1), 0.005);
}

TEST(Lag, IsWorthANoteWhereItMakesTheFigures) {
  const auto matters = [](double lag_ms, double response_ms) {
    Summary lag;
    Summary response;
    lag.p99 = lag_ms;
    response.p99 = response_ms;
    return lag_matters(lag, response);
  };
  EXPECT_TRUE(matters(4.3, 5.5));
  EXPECT_FALSE(matters(0.14, 0.2));  // the time of timers and the scheduler anywhere
  EXPECT_FALSE(matters(4.3, 100));   // a long path
}

}  // namespace
}  // namespace simco::loadgen
