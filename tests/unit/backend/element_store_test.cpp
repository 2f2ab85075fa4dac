// What the store makes of elements that rules share.
#include "middlebox/backend/match/tuple_space.hpp"

#include <gtest/gtest.h>

#include <map>

namespace simco::backend::match {
namespace {

Key key_at(std::uint16_t port) {
  Key key;
  key.internal_port = key.internal_last = port;
  return key;
}

Instant ends_at(std::uint16_t port) { return Instant{std::chrono::seconds(port)}; }

// What is freed is used for others, and those that went are not met again.
TEST(ElementStore, PlacesAreUsedAgain) {
  ElementStore store(Mask{});
  const auto hold = [&](std::uint16_t port) {
    return store.hold(key_at(port), {PolicyRuleId{port}, {}, ends_at(port)});
  };
  constexpr std::uint16_t kCount = 1'000;
  for (std::uint16_t port = 1; port <= kCount; ++port) EXPECT_TRUE(hold(port).empty());
  for (std::uint16_t port = 1; port <= kCount; port += 2) store.set(key_at(port), {});
  store.set(key_at(1), {});  // nothing is there
  for (std::uint16_t port = kCount + 1; port <= kCount + 100; ++port) hold(port);
  EXPECT_EQ(store.size(), 600U);
  EXPECT_EQ(store.count_of({}), 600U);
  std::size_t met = 0;
  store.for_each([&](const Key& key, Instant ends) {
    EXPECT_EQ(ends, ends_at(key.internal_port));
    EXPECT_TRUE(key.internal_port > kCount || key.internal_port % 2 == 0);
    ++met;
  });
  EXPECT_EQ(met, 600U);
  for (std::uint16_t port = 1; port <= kCount + 100; ++port) {
    const bool there = port > kCount || port % 2 == 0;
    EXPECT_EQ(store.has(key_at(port)), there);
    EXPECT_EQ(store.holds(key_at(port), PolicyRuleId{port}), there);
    store.set(key_at(port), {});
  }
  EXPECT_TRUE(store.empty());
  EXPECT_TRUE(hold(7).empty());
  EXPECT_EQ(store.size(), 1U);
}

/// The PIDs that hold each element.
using Contents = std::map<std::uint16_t, std::vector<std::uint32_t>>;

Contents contents_of(const ElementStore& store) {
  Contents contents;
  store.for_each([&](const Key& key, Instant) {
    auto& pids = contents[key.internal_port];
    for (const Holder& holder : store.find(key)) pids.push_back(holder.pid.value);
  });
  EXPECT_EQ(contents.size(), store.size());
  return contents;
}

TEST(ElementStore, HoldersComeAndGo) {
  constexpr std::uint16_t kCount = 300;
  constexpr std::uint32_t kSecond = 1'000;
  constexpr std::uint32_t kThird = 1'001;
  ElementStore store(Mask{});
  const auto holder = [](std::uint32_t pid, std::uint16_t port) {
    return Holder{PolicyRuleId{pid}, {}, ends_at(port)};
  };
  Contents expected;
  for (std::uint16_t port = 1; port <= kCount; ++port) {
    expected[port] = {port};
    store.hold(key_at(port), holder(port, port));
  }
  for (std::uint16_t port = 1; port <= kCount; port += 3) {
    expected[port] = {port, kSecond};
    store.hold(key_at(port), holder(kSecond, port));
    EXPECT_EQ(contents_of(store), expected);
    expected[port] = {kThird, kSecond};
    store.set(key_at(port), {holder(kThird, port), holder(kSecond, port)});
    EXPECT_EQ(contents_of(store), expected);
    expected[port] = {kSecond};
    store.set(key_at(port), {holder(kSecond, port)});
    EXPECT_EQ(contents_of(store), expected);
  }
  EXPECT_EQ(store.size(), kCount);
}

}  // namespace
}  // namespace simco::backend::match
