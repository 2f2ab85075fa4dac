#include "simco/net/crowd.hpp"

#include <gtest/gtest.h>

#include <new>

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

/// A guest for whose copies there may be no memory.
struct Costly {
  explicit Costly(int which) : number(which) {}
  Costly(const Costly& other) : number(other.number) {
    if (copies_left != -1 && copies_left-- == 0) throw std::bad_alloc();
  }
  Costly& operator=(const Costly&) = default;
  bool operator==(const Costly&) const = default;
  int number;
  static inline int copies_left = -1;
};
struct HashOfCostly {
  std::size_t operator()(const Costly& one) const { return static_cast<std::size_t>(one.number); }
};

}  // namespace
}  // namespace simco::net

template <>
struct std::hash<simco::net::Costly> : simco::net::HashOfCostly {};

namespace simco::net {
namespace {

TEST(Crowd, WithoutMemoryNothingChanges) {
  Crowd<Costly> crowd(2);
  const auto source = address("192.0.2.66");
  crowd.enter(source, Costly(1));
  bool failed = true;
  for (int copies = 0; failed; ++copies) {
    Costly::copies_left = copies;
    try {
      crowd.enter(source, Costly(2));
      failed = false;
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(crowd.size(), 1U) << copies;
    }
    Costly::copies_left = -1;
  }
  EXPECT_EQ(crowd.size(), 2U);
  const auto last = crowd.enter(source, Costly(3));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->number, 1);
  crowd.leave(Costly(2));
  crowd.leave(Costly(3));
  EXPECT_EQ(crowd.size(), 0U);
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
