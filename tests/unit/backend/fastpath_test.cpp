// The entries of a rule in the fast path, and the results of searches while rules come, go and
// expire.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "middlebox/backend/fastpath/limits.hpp"
#include "middlebox/backend/fastpath/rule_table.hpp"
#include "middlebox/backend/fastpath/slot_table.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::backend::fastpath {
namespace {

using rule::RuleKind;
using rule::RuleRecord;

AddressTuple end_tuple(const std::string& text, std::uint8_t protocol) {
  return parse_endpoint(text)->tuple(text.starts_with("[") ? IpVersion::kIpv6 : IpVersion::kIpv4,
                                     protocol, Location::kInternal);
}

RuleRecord flow_rule(const std::string& internal, const std::string& external,
                     Direction direction = Direction::kBidirectional,
                     std::uint8_t protocol = kProtocolUdp) {
  RuleRecord rule;
  rule.pid = PolicyRuleId{1};
  rule.internal = end_tuple(internal, protocol);
  rule.external = end_tuple(external, protocol);
  rule.parameters.direction = direction;
  return rule;
}

std::vector<Entry> entries_of(const RuleRecord& rule) {
  std::vector<Entry> entries;
  make_entries(rule, entries);
  return entries;
}

std::string text_of(const End& end) {
  std::string text;
  for (std::size_t i = 0; i < 4; ++i)
    text += (i == 0 ? "" : ".") + std::to_string(std::to_integer<int>(end.address[i]));
  return text + ":" + std::to_string(end.port);
}
/// "internal external", and behind an arrow the translation.
std::string text_of(const Entry& entry) {
  auto text = text_of(entry.internal) + " " + text_of(entry.external);
  if (entry.translates)
    text += " -> " + text_of(entry.to_internal) + " " + text_of(entry.to_external);
  return text;
}

TEST(FastPathEntries, AreThePortsOfARuleBetweenTwoEndpoints) {
  const auto entries = entries_of(flow_rule("10.0.0.2:5004/2", "192.0.2.2:6005/2"));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(text_of(entries[0]), "10.0.0.2:5004 192.0.2.2:6005");
  EXPECT_EQ(text_of(entries[1]), "10.0.0.2:5005 192.0.2.2:6006");
  EXPECT_EQ(entries[0].ways, FP_INBOUND | FP_OUTBOUND);
  const auto inbound = entries_of(flow_rule("10.0.0.2:1", "192.0.2.2:2", Direction::kInbound, 136));
  ASSERT_EQ(inbound.size(), 1U);
  EXPECT_EQ(inbound[0].ways, FP_INBOUND);
  EXPECT_EQ(inbound[0].protocol, kProtocolUdpLite);
  EXPECT_EQ(entries_of(flow_rule("[2001:db8::1]:4", "[2001:db8::2]:5")).size(), 1U);
}

TEST(FastPathEntries, LeaveTheRestToTheBackend) {
  const auto none = [](const RuleRecord& rule) { return entries_of(rule).empty(); };
  EXPECT_TRUE(
      none(flow_rule("10.0.0.2:5004", "192.0.2.2:6004", Direction::kInbound, kProtocolTcp)));
  EXPECT_TRUE(none(flow_rule("10.0.0.2:5004", "192.0.2.0/24:6004")));
  EXPECT_TRUE(none(flow_rule("10.0.0.2:5004", "192.0.2.2", Direction::kInbound)));
  EXPECT_TRUE(none(flow_rule("10.0.0.2", "192.0.2.2:6004", Direction::kOutbound)));
  EXPECT_TRUE(none(flow_rule("10.0.0.2:5004/17", "192.0.2.2:6004/17")));
  EXPECT_FALSE(none(flow_rule("10.0.0.2:5004/16", "192.0.2.2:6004/16")));
  auto rule = flow_rule("10.0.0.2:5004", "192.0.2.2:6004");
  rule.kind = RuleKind::kDisable;
  EXPECT_TRUE(none(rule));
  for (const char* address : {"127.0.0.1", "0.0.0.1", "224.0.0.1", "255.255.255.255"})
    EXPECT_TRUE(none(flow_rule("10.0.0.2:5004", address + std::string(":1")))) << address;
  for (const char* address : {"fe80::1", "ff0e::1", "::1", "::ffff:1.2.3.4"})
    EXPECT_TRUE(none(flow_rule("[2001:db8::1]:4", "[" + std::string(address) + "]:1"))) << address;
}

TEST(FastPathEntries, OfANatAreOneForEachDirection) {
  auto rule = flow_rule("10.0.0.2:5004", "192.0.2.2:6004");
  rule.outside = end_tuple("198.51.100.1:30000", kProtocolUdp);
  auto entries = entries_of(rule);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(text_of(entries[0]),
            "10.0.0.2:5004 192.0.2.2:6004 -> 198.51.100.1:30000 192.0.2.2:6004");
  EXPECT_EQ(entries[0].ways, FP_OUTBOUND);
  EXPECT_EQ(text_of(entries[1]),
            "198.51.100.1:30000 192.0.2.2:6004 -> 10.0.0.2:5004 192.0.2.2:6004");
  EXPECT_EQ(entries[1].ways, FP_INBOUND);
  rule.inside = end_tuple("10.9.0.1:40000", kProtocolUdp);
  entries = entries_of(rule);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(text_of(entries[0]),
            "10.0.0.2:5004 10.9.0.1:40000 -> 198.51.100.1:30000 192.0.2.2:6004");
  EXPECT_EQ(text_of(entries[1]),
            "198.51.100.1:30000 192.0.2.2:6004 -> 10.0.0.2:5004 10.9.0.1:40000");
  rule.parameters.direction = Direction::kInbound;
  EXPECT_EQ(entries_of(rule).size(), 1U);
}

// --- The table -----------------------------------------------------------------------------------

constexpr std::uint64_t kSeed = 0x1234'5678'9ABC'DEF1;

/// Octets of each packet that is counted, and when that is.
constexpr std::uint64_t kOctets = 200;
constexpr std::int64_t kCounted = 77;

/// A table in this process's memory, searched as the program would.
template <class Slot>
struct Memory {
  explicit Memory(std::uint32_t count)
      : slots(count + FP_PROBES_MAX),
        tallies(count + FP_PROBES_MAX),
        table(slots, kSeed, tallies),
        places(count) {}

  static std::uint32_t place(const fp_ends4& ends, std::uint32_t count) {
    return fp_place4(&ends, kSeed, count);
  }
  static std::uint32_t place(const fp_ends6& ends, std::uint32_t count) {
    return fp_place6(&ends, kSeed, count);
  }
  /// As fast_path.bpf.c searches.
  const Slot* find(const Entry& entry, int way, Instant now) const {
    decltype(Slot::ends) ends{};
    std::memcpy(&ends.internal, entry.internal.address.data(), sizeof ends.internal);
    std::memcpy(&ends.external, entry.external.address.data(), sizeof ends.external);
    ends.internal_port = entry.internal.port & 0xFFFE;
    ends.external_port = entry.external.port & 0xFFFE;
    ends.protocol = entry.protocol;
    ends.crossed = (entry.internal.port ^ entry.external.port) & 1;
    const int half = entry.internal.port & 1;
    const auto first = place(ends, places);
    for (std::uint32_t i = first; i < first + FP_PROBES_MAX; ++i) {
      const auto& slot = slots[i];
      if (!slot.ends.used) return nullptr;
      if (std::memcmp(&slot.ends, &ends, offsetof(decltype(ends), used)) != 0) continue;
      if (slot.expires[half] > now.time_since_epoch().count() &&
          (slot.ends.flags & way << 2 * half) != 0)
        return &slot;
    }
    return nullptr;
  }

  /// As the program counts.
  void count(const Slot* slot, std::size_t half, std::uint64_t packets) {
    auto& tally = tallies[static_cast<std::size_t>(slot - slots.data())];
    tally.packets[half] += packets;
    tally.octets[half] += packets * kOctets;
    tally.last[half] = kCounted;
  }

  std::vector<Slot> slots;
  std::vector<fp_tally> tallies;
  SlotTable<Slot> table;
  std::uint32_t places;
};

constexpr Instant kStart{std::chrono::hours(1)};
constexpr std::chrono::nanoseconds kRest{FP_REST_NS};

// A packet that found the slot before must not get half of another translation.
TEST(FastPathTable, ASlotRestsBeforeItMeansSomethingElse) {
  Memory<fp_slot4> memory(1);
  auto rule = flow_rule("10.0.0.2:5004", "192.0.2.2:6004", Direction::kOutbound);
  const auto entry_to = [&](const std::string& outside) {
    rule.outside = end_tuple(outside, kProtocolUdp);
    return entries_of(rule)[0];
  };
  const auto first = entry_to("198.51.100.1:30000");
  const auto until = kStart + std::chrono::seconds(10);
  memory.table.begin(memory.table.prepare(first, PolicyRuleId{1}, kStart), until);
  const auto* const slot = memory.find(first, FP_OUTBOUND, kStart);
  memory.table.end(first, PolicyRuleId{1}, kStart);

  const auto second = entry_to("198.51.100.1:30002");
  memory.table.begin(memory.table.prepare(second, PolicyRuleId{2}, kStart), until);
  const auto* const other = memory.find(second, FP_OUTBOUND, kStart);
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other, slot);
  EXPECT_EQ(slot->to_internal_port[0], 30000);
  EXPECT_EQ(other->to_internal_port[0], 30002);
  memory.table.end(second, PolicyRuleId{2}, kStart);
  const auto third = entry_to("198.51.100.1:30004");
  memory.table.begin(memory.table.prepare(third, PolicyRuleId{3}, kStart + kRest), until);
  EXPECT_EQ(memory.find(third, FP_OUTBOUND, kStart + kRest), slot);
}

// A packet that found the half alive before must not pass the way of another rule.
TEST(FastPathTable, AHalfRestsBeforeItsPacketsPassAnotherWay) {
  Memory<fp_slot4> memory(1);
  const auto until = kStart + std::chrono::seconds(10);
  const auto take = [&](std::size_t half, Direction direction, PolicyRuleId pid, Instant now) {
    const auto entry =
        entries_of(flow_rule("10.0.0.2:5004/2", "192.0.2.2:6004/2", direction))[half];
    memory.table.begin(memory.table.prepare(entry, pid, now), until);
    return std::pair(entry, memory.find(entry, entry.ways & -entry.ways, now));
  };
  take(1, Direction::kBidirectional, PolicyRuleId{1}, kStart);
  const auto [inbound, slot] = take(0, Direction::kInbound, PolicyRuleId{2}, kStart);
  ASSERT_NE(slot, nullptr);
  memory.table.end(inbound, PolicyRuleId{2}, kStart);
  const auto [outbound, other] = take(0, Direction::kOutbound, PolicyRuleId{3}, kStart);
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other, slot);
  EXPECT_EQ(slot->ends.flags & (FP_INBOUND | FP_OUTBOUND), FP_INBOUND);
  memory.table.end(outbound, PolicyRuleId{3}, kStart);
  const auto rested = take(0, Direction::kOutbound, PolicyRuleId{4}, kStart + kRest);
  EXPECT_EQ(rested.second, slot);
}

TEST(FastPathTable, TheStackIsShownTheFirstPacketOfEachHalfAndDirection) {
  Memory<fp_slot6> memory(1);
  const auto entries = entries_of(flow_rule("[2001:db8::1]:4/2", "[2001:db8::2]:8/2"));
  const auto take = [&](std::size_t half, Instant now) {
    memory.table.begin(memory.table.prepare(entries[half], PolicyRuleId{1}, now),
                       now + std::chrono::seconds(10));
  };
  const auto tick = [](Instant now) {
    return static_cast<std::uint16_t>(now.time_since_epoch().count() >> FP_TICK_BITS);
  };
  const auto is_due = [&](int half, int side) {
    const std::uint16_t last = memory.slots[0].shown[half][side];
    return static_cast<std::uint16_t>(tick(kStart) - last) >= FP_SHOW_TICKS;
  };
  take(0, kStart);
  auto& shown = memory.slots[0].shown;
  for (auto& side : shown[0]) side = tick(kStart);
  take(1, kStart);
  for (const int side : {0, 1}) {
    EXPECT_FALSE(is_due(0, side)) << "has been";
    EXPECT_TRUE(is_due(1, side));
  }
  for (auto& side : shown[1]) side = tick(kStart);
  memory.table.end(entries[1], PolicyRuleId{1}, kStart - kRest);
  take(1, kStart);
  for (const int side : {0, 1}) {
    EXPECT_FALSE(is_due(0, side)) << "lives on";
    EXPECT_TRUE(is_due(1, side)) << "another rule's";
  }
}

TEST(FastPathTable, ARuleHasWhatItHasLetPassItself) {
  Memory<fp_slot4> memory(64);
  const auto entries = entries_of(flow_rule("10.0.0.2:5004/2", "192.0.2.2:6004/2"));
  const auto& odd = entries[1];
  const PolicyRuleId first{1};
  const PolicyRuleId second{2};
  const auto until = kStart + std::chrono::seconds(10);
  const auto take = [&](const Entry& entry, PolicyRuleId pid) {
    memory.table.begin(memory.table.prepare(entry, pid, kStart), until);
    return memory.find(entry, FP_INBOUND, kStart);
  };
  const auto packets = [&](const Entry& entry, PolicyRuleId pid) {
    const auto tally = memory.table.tally(entry, pid);
    if (!tally) return -1;
    EXPECT_EQ(tally->count.octets, tally->count.packets * kOctets);
    return static_cast<int>(tally->count.packets);
  };
  take(entries[0], second);
  const auto* slot = take(odd, first);
  ASSERT_NE(slot, nullptr);
  memory.count(slot, 0, 4);
  memory.count(slot, 1, 5);
  EXPECT_EQ(packets(entries[0], second), 4);
  EXPECT_EQ(packets(odd, first), 5);
  EXPECT_EQ(packets(odd, second), -1);
  EXPECT_EQ(take(odd, first), slot) << "a renewal";
  EXPECT_EQ(packets(odd, first), 5);
  // The backend refuses to remove it.
  memory.table.end(odd, first, kStart);
  EXPECT_EQ(take(odd, first), slot);
  EXPECT_EQ(packets(odd, first), 5);
  memory.table.end(odd, first, kStart);
  EXPECT_EQ(take(odd, second), slot);
  EXPECT_EQ(packets(odd, second), 0) << "another's are not its";
  EXPECT_EQ(memory.table.tally(odd, second)->last, Instant{});
  EXPECT_EQ(packets(entries[0], second), 4);
}

// The backend counts the packets of two equal rules for both.
TEST(FastPathTable, WhatTwoRulesSayCanBeLeftToTheBackend) {
  Memory<fp_slot4> memory(64);
  const auto entry = entries_of(flow_rule("10.0.0.2:5004", "192.0.2.2:6004"))[0];
  const auto inbound =
      entries_of(flow_rule("10.0.0.2:5004", "192.0.2.2:6004", Direction::kInbound))[0];
  const PolicyRuleId first{1};
  const PolicyRuleId second{2};
  const auto until = kStart + std::chrono::seconds(10);
  memory.table.begin(memory.table.prepare(inbound, first, kStart), until);
  memory.count(memory.find(inbound, FP_INBOUND, kStart), 0, 3);
  memory.table.suspend(inbound, first, kStart);
  EXPECT_NE(memory.find(inbound, FP_INBOUND, kStart), nullptr) << "its own";
  auto outbound = inbound;
  outbound.ways = FP_OUTBOUND;
  memory.table.suspend(outbound, second, kStart);
  EXPECT_NE(memory.find(inbound, FP_INBOUND, kStart), nullptr) << "the other way";
  memory.table.suspend(entry, second, kStart);
  EXPECT_EQ(memory.find(inbound, FP_INBOUND, kStart), nullptr);
  EXPECT_EQ(memory.table.prepare(entry, second, kStart), nullptr);
  EXPECT_EQ(memory.table.prepare(inbound, first, kStart), nullptr) << "a renewal";
  EXPECT_EQ(memory.table.tally(inbound, first)->count.packets, 3U);
  memory.table.end(inbound, first, kStart);
  auto* const cell = memory.table.prepare(entry, second, kStart);
  ASSERT_NE(cell, nullptr);
  memory.table.begin(cell, until);
  EXPECT_NE(memory.find(entry, FP_OUTBOUND, kStart), nullptr);
  EXPECT_EQ(memory.table.tally(entry, second)->count.packets, 0U);
}

/// Rules of many kinds come, are renewed and go; searches find the contents of a plain map.
template <class Slot>
class TableRun {
 public:
  TableRun(std::uint32_t seed, std::uint32_t places, bool translates)
      : random_(seed), memory_(places), translates_(translates) {}

  void step() {
    now_ += std::chrono::milliseconds(pick(20));
    const Entry entry = any_entry();
    const auto pid = PolicyRuleId{1 + pick(8)};
    const auto key = key_of(entry);
    if (pick(2) == 0) {
      memory_.table.end(entry, pid, now_);
      const auto found = model_.find(key);
      if (found != model_.end() && found->second.pid == pid) model_.erase(found);
    } else if (auto* const cell = memory_.table.prepare(entry, pid, now_)) {
      const auto found = model_.find(key);
      // An entry in place keeps its translation.
      if (found != model_.end() && found->second.pid == pid) {
        found->second.until = now_ + std::chrono::milliseconds(pick(4000));
      } else {
        EXPECT_TRUE(found == model_.end() || found->second.until <= now_) << "it is another's";
        model_[key] = {entry, pid, now_ + std::chrono::milliseconds(pick(4000))};
      }
      SlotTable<Slot>::begin(cell, model_[key].until);
    } else {
      ++refused_;
      // Expired entries are gone all the same.
      const auto found = model_.find(key);
      if (found != model_.end() && found->second.until <= now_) model_.erase(found);
    }
    check(entry);
  }

  void check_all() {
    for (const auto& [key, lives] : model_) check(lives.entry);
  }
  std::size_t live() const { return model_.size(); }
  std::size_t refused() const { return refused_; }

 private:
  struct Lives {
    Entry entry;
    PolicyRuleId pid;
    Instant until;
  };
  using Key = std::tuple<std::uint8_t, std::array<std::byte, 16>, std::uint16_t, std::uint16_t>;

  static Key key_of(const Entry& entry) {
    return {entry.protocol, entry.internal.address, entry.internal.port, entry.external.port};
  }
  std::uint32_t pick(std::uint32_t below) {
    return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random_);
  }
  Entry any_entry() {
    Entry entry;
    entry.protocol = pick(2) == 0 ? kProtocolUdp : kProtocolUdpLite;
    entry.ways = static_cast<std::uint8_t>(1 + pick(3));
    entry.internal.address[3] = static_cast<std::byte>(pick(4));
    entry.external.address[3] = std::byte{1};
    entry.internal.port = static_cast<std::uint16_t>(pick(8));
    entry.external.port = static_cast<std::uint16_t>(pick(4));
    entry.translates = translates_;
    if (!translates_) return entry;
    entry.to_internal = {entry.internal.address, static_cast<std::uint16_t>(pick(4))};
    entry.to_internal.address[0] = static_cast<std::byte>(pick(2));
    entry.to_external = entry.external;
    return entry;
  }
  void check(const Entry& entry) {
    const auto found = model_.find(key_of(entry));
    for (const int way : {FP_INBOUND, FP_OUTBOUND}) {
      const Slot* const slot = memory_.find(entry, way, now_);
      const bool expected = found != model_.end() && found->second.until > now_ &&
                            (found->second.entry.ways & way) != 0;
      ASSERT_EQ(slot != nullptr, expected) << text_of(entry);
      if (!expected || !translates_) continue;
      const auto& to = found->second.entry.to_internal;
      EXPECT_EQ(slot->to_internal_port[entry.internal.port & 1], to.port);
      EXPECT_EQ(std::memcmp(&slot->to_internal, to.address.data(), 4), 0);
    }
  }

  std::mt19937 random_;
  Memory<Slot> memory_;
  bool translates_;
  std::map<Key, Lives> model_;
  Instant now_ = kStart;
  std::size_t refused_ = 0;
};

TEST(FastPathTable, AgreesWithAPlainMap) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    TableRun<fp_slot4> run4(seed, 1 + seed * 16, seed % 2 == 0);
    TableRun<fp_slot6> run6(seed, 1 + seed * 16, seed % 2 == 1);
    for (int i = 0; i < 3000; ++i) {
      run4.step();
      run6.step();
    }
    run4.check_all();
    run6.check_all();
    EXPECT_GT(run4.live() + run6.live(), 0U);
  }
}

TEST(FastPathTable, HasRoomForWhatItIsMadeFor) {
  constexpr std::uint32_t kEntries = 20'000;
  Memory<fp_slot4> memory(kEntries / 2 * kSlotHalvesPerEntry);
  std::size_t refused = 0;
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    Entry entry;
    entry.protocol = kProtocolUdp;
    entry.ways = FP_INBOUND;
    entry.internal.address = {std::byte{10}, static_cast<std::byte>(i >> 16),
                              static_cast<std::byte>(i >> 8), static_cast<std::byte>(i)};
    entry.internal.port = entry.external.port = 5004;
    auto* const cell = memory.table.prepare(entry, PolicyRuleId{i + 1}, kStart);
    refused += cell == nullptr;
  }
  EXPECT_EQ(refused, 0U);
}

}  // namespace
}  // namespace simco::backend::fastpath
