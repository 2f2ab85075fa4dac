#include "middlebox/observe/line_budget.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;

TEST(PeerLog, WhatIsTooMuchIsCountedAndSaid) {
  std::vector<std::string> lines;
  PeerLog log(10, [&](const std::string& line) { lines.push_back(line); });
  const Instant now{1h};
  for (int i = 0; i < 1000; ++i) log.warn("192.0.2.1", "refused", now);
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_EQ(lines[0], "192.0.2.1: refused");
  // The number comes before the next line, or when it is asked for.
  log.warn("192.0.2.2", "refused", now + 1s);
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[10],
            "990 further warnings about connections were left out (more than 10 in a second)");
  EXPECT_EQ(lines[11], "192.0.2.2: refused");
  log.flush();
  EXPECT_EQ(lines.size(), 12U);
  for (int i = 0; i < 12; ++i) log.warn("192.0.2.1", "refused", now + 1s);
  log.flush();
  EXPECT_TRUE(lines.back().starts_with("3 further warnings"));
}

}  // namespace
}  // namespace simco::middlebox
