// What the store makes of elements that rules share, and what is left of it when memory runs out.
#include "middlebox/backend/match/element_store.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <new>

namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();
thread_local int allocations_left = kUnlimited;

}  // namespace

// g++ takes the inlined free() below for a mistake.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

// Of this whole program.
void* operator new(std::size_t size) {
  if (allocations_left != kUnlimited && --allocations_left < 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace simco::backend::match {
namespace {

/// While one lives, the allocation after the next `allocations` fails, and so do all that follow.
struct MemoryShortage {
  explicit MemoryShortage(int allocations) { allocations_left = allocations; }
  ~MemoryShortage() { allocations_left = kUnlimited; }
};

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

/// Has `change` fail at its first allocation, then at its second, and so on until it needs no
/// more. Returns how often it failed; each time the contents were as before.
int fail_at_each_allocation(ElementStore& store, const std::function<void()>& change) {
  const auto before = contents_of(store);
  for (int failures = 0;; ++failures) {
    try {
      const MemoryShortage shortage(failures);
      change();
      return failures;
    } catch (const std::bad_alloc&) {
    }
    EXPECT_EQ(contents_of(store), before);
  }
}

// Elements are added, shared, left and removed while memory runs out, and all is as if it had not.
// The table of places is large enough from the start: absl's does not withstand that.
TEST(ElementStore, StaysAsItWasWithoutMemory) {
  constexpr std::uint16_t kCount = 300;
  constexpr std::uint32_t kSecond = 1'000;
  constexpr std::uint32_t kThird = 1'001;
  ElementStore store(Mask{});
  const auto holder = [](std::uint32_t pid, std::uint16_t port) {
    return Holder{PolicyRuleId{pid}, {}, ends_at(port)};
  };
  const auto hold = [&](std::uint16_t port) { store.hold(key_at(port), holder(port, port)); };
  const auto remove = [&](std::uint16_t port) { store.set(key_at(port), {}); };
  Contents expected;
  const auto fail = [&](const std::function<void()>& change) {
    const int failures = fail_at_each_allocation(store, change);
    EXPECT_EQ(contents_of(store), expected);
    return failures;
  };
  int added = 0, shared = 0, removed = 0;
  for (std::uint16_t port = 1; port <= kCount; ++port) {
    expected[port] = {port};
    hold(port);
  }
  for (std::uint16_t port = 1; port <= kCount; ++port) {
    expected.erase(port);
    removed += fail([&] { remove(port); });
  }
  for (std::uint16_t port = 1; port <= kCount; ++port) {
    expected[port] = {port};
    added += fail([&] { hold(port); });
  }
  for (std::uint16_t port = 1; port <= kCount; port += 3) {
    expected[port] = {port, kSecond};
    shared += fail([&] { store.hold(key_at(port), holder(kSecond, port)); });
    expected[port] = {kThird, kSecond};
    fail([&] { store.set(key_at(port), {holder(kThird, port), holder(kSecond, port)}); });
    expected[port] = {kSecond};
    fail([&] { store.set(key_at(port), {holder(kSecond, port)}); });
  }
  EXPECT_EQ(store.size(), kCount);
  EXPECT_GT(added, 0);
  EXPECT_GT(shared, 0);
  EXPECT_GT(removed, 0);
}

}  // namespace
}  // namespace simco::backend::match
