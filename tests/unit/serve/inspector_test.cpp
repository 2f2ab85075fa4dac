// Questions and answers of --inspect as text; and that agents can read the answers.
#include "middlebox/serve/inspector.hpp"

#include <gtest/gtest.h>

#include "agent/limits.hpp"
#include "agent/rule_traffic.hpp"
#include "middlebox/limits.hpp"
#include "simco/http/limits.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;

std::vector<PolicyRuleId> pids(std::uint32_t count) {
  std::vector<PolicyRuleId> result;
  for (std::uint32_t i = 1; i <= count; ++i) result.push_back({i});
  return result;
}

TEST(Inspection, PathsNameRules) {
  const std::vector<PolicyRuleId> some = {{7}, {0xFFFF'FFFF}};
  EXPECT_EQ(rules_in("/rules/7,4294967295"), some);
  EXPECT_EQ(agent::inspection_path(some), "/rules/7,4294967295");
  static_assert(agent::kInspectedRulesMax == kInspectedRulesMax);
  const auto most = pids(kInspectedRulesMax);
  EXPECT_EQ(rules_in(agent::inspection_path(most)), most);
  EXPECT_LT(agent::inspection_path(most).size() + 1024, http::kHeadMax);
  EXPECT_FALSE(rules_in(agent::inspection_path(pids(kInspectedRulesMax + 1))));
  for (const auto* path : {"", "/", "/rules", "/rules/", "/rules/x", "/rules/1,", "/rules/,1",
                           "/rules/-1", "/rules/1 ", "/rules/4294967296", "/metrics"}) {
    EXPECT_FALSE(rules_in(path)) << path;
  }
}

TEST(Inspection, AnswersAreWhatAgentsRead) {
  const Instant now(1h);
  CountedRules counted{true, 4'294'967'295, now, {}};
  counted.rules.push_back({{7},
                           {{57, 5700},
                            rule::PacketTime{now - 2s, now - 40ms},
                            now - 61s,
                            now,
                            {{5004, {50, 5000}}, {5005, {7, 700}}}}});
  counted.rules.push_back({{9}, {{}, std::nullopt, now - 1s, now - 3ms, {}}});
  const auto read = agent::read_inspection(to_json(counted));
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->size(), 2U);
  const auto& first = read->at({7});
  EXPECT_EQ(first.count.packets, 57U);
  EXPECT_EQ(first.count.octets, 5700U);
  EXPECT_EQ(first.run, 4'294'967'295U);
  ASSERT_TRUE(first.last_packet);
  EXPECT_EQ(first.last_packet->after, 2s);
  EXPECT_EQ(first.last_packet->until, 40ms);
  EXPECT_EQ(first.complete, 61s);
  EXPECT_EQ(first.read, 0s);
  ASSERT_EQ(first.ports.size(), 2U);
  EXPECT_EQ(first.ports.at(5005).octets, 700U);
  const auto& second = read->at({9});
  EXPECT_FALSE(second.last_packet);
  EXPECT_EQ(second.read, 3ms);
  EXPECT_TRUE(second.ports.empty());
}

TEST(Inspection, WhatIsNoAnswerIsAFault) {
  EXPECT_EQ(agent::read_inspection(to_json({})).error(),
            "the middlebox does not count: start it with --counters");
  for (const auto* text :
       {"", "{", "[]", "{}", R"({"counting":1})", R"({"counting":true})",
        R"({"counting":true,"rules":[]})", R"({"counting":true,"run":1,"rules":[{"pid":1}]})",
        R"({"counting":true,"run":1,"rules":[{"pid":-1,"packets":1,"octets":1}]})"}) {
    EXPECT_FALSE(agent::read_inspection(text)) << text;
  }
}

}  // namespace
}  // namespace simco::middlebox
