#include "simco/net/crowd.hpp"

#include <gtest/gtest.h>

namespace simco::net {
namespace {

IpAddress address(const char* text) { return *parse_address(text); }

TEST(Crowd, OneSourceAloneKeepsNobodyOut) {
  Crowd<int> crowd(100);
  const auto attacker = address("192.0.2.66");
  const auto agent = address("192.0.2.1");
  EXPECT_EQ(crowd.enter(agent, 1), std::nullopt);
  for (int i = 0; i < 99; ++i) EXPECT_EQ(crowd.enter(attacker, 1000 + i), std::nullopt);
  for (int i = 99; i < 10'000; ++i) {
    EXPECT_EQ(crowd.enter(attacker, 1000 + i), 1000 + i - 99);  // its own oldest
    EXPECT_EQ(crowd.size(), 100U);
  }
  EXPECT_EQ(crowd.enter(agent, 2), 1000 + 10'000 - 99);
  crowd.leave(1);
  crowd.leave(1);
  EXPECT_EQ(crowd.size(), 99U);
}

TEST(Crowd, OfManySourcesTheOneThatCameFirstGoes) {
  Crowd<int> crowd(3);
  crowd.enter(address("192.0.2.3"), 1);
  crowd.enter(address("192.0.2.1"), 2);
  crowd.enter(address("192.0.2.2"), 3);
  EXPECT_EQ(crowd.enter(address("192.0.2.9"), 4), 1);
  crowd.leave(2);
  EXPECT_EQ(crowd.enter(address("192.0.2.8"), 5), std::nullopt);
  EXPECT_EQ(crowd.enter(address("192.0.2.7"), 6), 3);
}

TEST(Crowd, AnIpv6SourceIsItsNetwork) {
  Crowd<int> crowd(3);
  crowd.enter(address("2001:db8:0:1::1"), 1);
  crowd.enter(address("2001:db8::1"), 2);
  crowd.enter(address("2001:db8::ffff:2"), 3);
  EXPECT_EQ(crowd.enter(address("2001:db8:0:2::1"), 4), 2);
}

}  // namespace
}  // namespace simco::net
