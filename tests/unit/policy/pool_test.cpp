#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>

#include "middlebox/policy/address_pool.hpp"

namespace simco::policy {
namespace {

using enum NegativeReplyCode;

// --- Ports of one address ----------------------------------------------------------------------

/// A plain model of PortMap.
class PlainPorts {
 public:
  PlainPorts(unsigned first, unsigned last) {
    for (unsigned port = first; port <= last; ++port) free_[port] = true;
  }
  unsigned longest(Parity parity) const {
    unsigned best = 0;
    for (unsigned port = 0; port < 65536; ++port) {
      // Only the begin of a run, or the port after it, can begin a longest run of its parity.
      const bool begin =
          free_[port] && (port == 0 || !free_[port - 1] || port < 2 || !free_[port - 2]);
      if (!begin || (parity != Parity::kAny && port % 2 != static_cast<unsigned>(parity))) continue;
      unsigned length = 0;
      while (port + length < 65536 && free_[port + length]) ++length;
      best = std::max(best, length);
    }
    return best;
  }
  bool is(unsigned first, unsigned count, bool free) const {
    for (unsigned i = 0; i < count; ++i) {
      if (free_[first + i] != free) return false;
    }
    return true;
  }
  void set(unsigned first, unsigned count, bool free) {
    for (unsigned i = 0; i < count; ++i) free_[first + i] = free;
  }

 private:
  std::array<bool, 65536> free_{};
};

TEST(PortMap, AgreesWithAPlainMapOverRandomRuns) {
  std::mt19937 random(3);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  for (const auto& [first, last] : {std::pair{1024, 65535}, {1, 65535}, {5001, 5300}, {63, 64}}) {
    const auto map = std::make_unique<PortMap>(first, last);
    const auto plain = std::make_unique<PlainPorts>(first, last);
    std::vector<std::pair<std::uint16_t, std::uint16_t>> taken;
    const unsigned largest = last - first > 1000 ? 3000 : 12;
    for (int step = 0; step < 1500; ++step) {
      const auto parity = static_cast<Parity>(below(3));
      // Mostly taking, so that it fills up; then mostly giving back.
      if (below(10) < (step < 1000 ? 8U : 2U)) {
        const auto count =
            static_cast<std::uint16_t>(below(5) == 0 ? 1 + below(largest) : 1 + below(4));
        const bool there = plain->longest(parity) >= count;
        const auto port = map->take(count, parity);
        ASSERT_EQ(port.has_value(), there) << step;
        if (!port) continue;
        ASSERT_TRUE(plain->is(*port, count, true)) << *port << "+" << count;
        if (parity != Parity::kAny) {
          ASSERT_EQ(parity_of(*port), parity);
        }
        plain->set(*port, count, false);
        taken.emplace_back(*port, count);
      } else if (!taken.empty()) {
        std::swap(taken[below(static_cast<unsigned>(taken.size()))], taken.back());
        map->give_back(taken.back().first, taken.back().second);
        plain->set(taken.back().first, taken.back().second, true);
        taken.pop_back();
      }
      if (step % 10 == 0) {
        for (const auto each : {Parity::kEven, Parity::kOdd, Parity::kAny}) {
          ASSERT_EQ(map->longest(each), plain->longest(each)) << step;
        }
      }
    }
  }
}

TEST(PortMap, APortRestsAsLongAsPossible) {
  const auto map = std::make_unique<PortMap>(5000, 5099);
  const auto first = map->take(2, Parity::kEven);
  map->give_back(*first, 2);
  for (int i = 1; i < 50; ++i) {
    const auto next = map->take(2, Parity::kEven);
    EXPECT_NE(next, first);
    map->give_back(*next, 2);
  }
  EXPECT_EQ(map->take(2, Parity::kEven), first);
}

TEST(PortMap, FillsToTheLastPort) {
  const auto map = std::make_unique<PortMap>(1024, 65535);
  for (unsigned i = 0; i < (65536 - 1024) / 2; ++i) ASSERT_TRUE(map->take(2, Parity::kEven));
  EXPECT_FALSE(map->take(1, Parity::kAny));
  map->give_back(30000, 2);
  EXPECT_FALSE(map->take(2, Parity::kOdd));
  EXPECT_EQ(map->take(1, Parity::kOdd), 30001);
  EXPECT_FALSE(map->take(2, Parity::kAny));
  EXPECT_EQ(map->take(1, Parity::kAny), 30000);
}

// --- Pools -------------------------------------------------------------------------------------

AddressPool::Options options(const char* first, std::uint32_t count, std::uint16_t low,
                             std::uint16_t high, bool paired = true) {
  return {{{*parse_address(first), count}}, low, high, paired};
}

std::optional<IpAddress> host(unsigned number) {
  return advance(*parse_address("10.0.0.0"), number);
}

TEST(AddressPool, AddressesAreThoseOfItsRanges) {
  AddressPool pool(
      {{{*parse_address("192.0.2.254"), 4}, {*parse_address("198.51.100.9"), 1}}, 1, 9});
  std::string all;
  for (std::uint32_t i = 0; i < 5; ++i) all += to_string(pool.address(i)) + " ";
  EXPECT_EQ(all, "192.0.2.254 192.0.2.255 192.0.3.0 192.0.3.1 198.51.100.9 ");
  EXPECT_EQ(to_string(advance(*parse_address("2001:db8::ffff:ffff"), 1)), "2001:db8::1:0:0");
}

TEST(AddressPool, RulesOfOneHostShareAnAddressWhileItHasAny) {
  AddressPool pool(options("198.51.100.1", 4, 5000, 5009));
  const auto one = pool.take({17, 2, Parity::kEven, host(1)});
  const auto other = pool.take({17, 2, Parity::kEven, host(2)});
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->address, other->address);
  std::vector<Binding> more;
  for (int i = 0; i < 4; ++i) {
    more.push_back(*pool.take({17, 2, Parity::kEven, host(1)}));
    EXPECT_EQ(more.back().address, one->address);
  }
  // Its address is full, and another would break the pairing; another protocol has ports of its
  // own.
  EXPECT_EQ(pool.take({17, 1, Parity::kAny, host(1)}).error(), kLackOfPorts);
  EXPECT_EQ(pool.take({6, 1, Parity::kAny, host(1)})->address, one->address);
  EXPECT_TRUE(pool.take({17, 2, Parity::kAny, host(3)}));

  AddressPool free_pool(options("198.51.100.1", 4, 5000, 5009, false));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(free_pool.take({17, 2, Parity::kEven, host(1)}));
  EXPECT_EQ(free_pool.take({17, 1, Parity::kAny, host(1)}).error(), kLackOfPorts);
}

TEST(AddressPool, ThePairingEndsWithTheLastBinding) {
  AddressPool pool(options("198.51.100.1", 2, 5000, 5009));
  const auto first = *pool.take({17, 10, Parity::kAny, host(1)});
  pool.give_back(first, 17, host(1));
  const auto second = *pool.take({17, 10, Parity::kAny, host(1)});
  EXPECT_NE(second.address, first.address);  // addresses come in turn too
}

TEST(AddressPool, AReservationIsPairedWhenItsHostIsKnown) {
  AddressPool pool(options("198.51.100.1", 3, 5000, 5009));
  auto reserved = *pool.take({17, 2, Parity::kEven, {}});
  pool.pair(reserved, *host(1));
  EXPECT_TRUE(reserved.paired);
  EXPECT_EQ(pool.take({17, 2, Parity::kAny, host(1)})->address, reserved.address);
  // One at another address than the host's does not count for the pairing.
  auto elsewhere = *pool.take({17, 2, Parity::kEven, {}});
  ASSERT_NE(elsewhere.address, reserved.address);
  pool.pair(elsewhere, *host(1));
  EXPECT_FALSE(elsewhere.paired);
  pool.give_back(elsewhere, 17, host(1));
  EXPECT_EQ(pool.take({17, 2, Parity::kAny, host(1)})->address, reserved.address);
}

TEST(AddressPool, WholeAddresses) {
  AddressPool pool(options("198.51.100.1", 2, 5000, 5009));
  const auto ports = *pool.take({17, 1, Parity::kAny, {}});
  const auto whole = *pool.take({kProtocolAny, 1, Parity::kAny, {}});
  EXPECT_NE(whole.address, ports.address);
  EXPECT_EQ(whole.port, 0);
  EXPECT_EQ(pool.take({kProtocolAny, 1, Parity::kAny, {}}).error(), kLackOfAddresses);
  // Nobody gets ports of it, in no protocol.
  for (const std::uint8_t protocol : {6, 17, 132}) {
    const unsigned there = protocol == 17 ? 9 : 10;
    for (unsigned i = 0; i < there; ++i) {
      EXPECT_EQ(pool.take({protocol, 1, Parity::kAny, {}})->address, ports.address);
    }
    EXPECT_EQ(pool.take({protocol, 1, Parity::kAny, {}}).error(), kLackOfPorts);
  }
  pool.give_back(whole, kProtocolAny, {});
  EXPECT_EQ(pool.take({17, 10, Parity::kAny, {}})->address, whole.address);
}

TEST(AddressPool, SaysWhatIsMissing) {
  AddressPool none({});
  EXPECT_EQ(none.take({17, 1, Parity::kAny, {}}).error(), kLackOfAddresses);
  AddressPool one(options("198.51.100.1", 1, 5001, 5001));
  EXPECT_EQ(one.take({17, 1, Parity::kEven, {}}).error(), kParityMismatch);
  EXPECT_EQ(one.take({17, 2, Parity::kAny, {}}).error(), kLackOfPorts);
  const auto whole = *one.take({kProtocolAny, 1, Parity::kAny, {}});
  EXPECT_EQ(one.take({17, 1, Parity::kAny, {}}).error(), kLackOfAddresses);
  one.give_back(whole, kProtocolAny, {});
  ASSERT_TRUE(one.take({17, 1, Parity::kOdd, {}}));
  EXPECT_EQ(one.take({17, kAnyPortRange, Parity::kAny, {}}).error(), kLackOfAddresses);
}

/// No two bindings ever overlap, and none is missing, over a long random run.
TEST(AddressPool, NoTwoBindingsOverlap) {
  std::mt19937 random(8);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  constexpr unsigned kPoolSize = 5;
  constexpr std::uint8_t kProtocols[] = {6, 17, 0};
  AddressPool pool(options("198.51.100.1", kPoolSize, 2001, 2064));
  struct Held {
    Binding binding;
    std::uint8_t protocol;
    std::optional<IpAddress> host;
  };
  std::vector<Held> held;
  // The taken ports: by address and protocol, a bit for each port.
  std::map<std::pair<std::uint32_t, int>, std::set<unsigned>> used;
  unsigned full = 0;
  for (int step = 0; step < 50'000; ++step) {
    if (below(100) < (step / 5000 % 2 == 0 ? 70U : 30U)) {
      const auto protocol = kProtocols[below(20) == 0 ? 2 : below(2)];
      const auto ports = static_cast<std::uint16_t>(below(50) == 0 ? 0xFFFF : 1 + below(8));
      const auto owner = below(4) == 0 ? std::nullopt : host(below(12));
      const auto parity = static_cast<Parity>(below(3));
      const auto binding = pool.take({protocol, ports, parity, owner});
      if (!binding) {
        ++full;
        continue;
      }
      ASSERT_LT(binding->address, kPoolSize);
      for (const int each : {6, 17}) {
        if (protocol != 0 && protocol != each) continue;
        auto& ports_used = used[{binding->address, each}];
        const unsigned first = protocol == 0 ? 2001 : binding->port;
        const unsigned count = protocol == 0 ? 64 : binding->ports;
        for (unsigned port = first; port < first + count; ++port) {
          ASSERT_TRUE(ports_used.insert(port).second) << step;
        }
      }
      if (protocol != 0) {
        ASSERT_GE(binding->port, 2001);
        ASSERT_LE(binding->port + binding->ports - 1, 2064);
        if (parity != Parity::kAny && ports != 0xFFFF) {
          ASSERT_EQ(parity_of(binding->port), parity);
        }
      }
      held.push_back({*binding, protocol, owner});
    } else if (!held.empty()) {
      std::swap(held[below(static_cast<unsigned>(held.size()))], held.back());
      const auto [binding, protocol, owner] = held.back();
      held.pop_back();
      pool.give_back(binding, protocol, owner);
      for (const int each : {6, 17}) {
        if (protocol == 0) used[{binding.address, each}].clear();
        for (unsigned i = 0; protocol == each && i < binding.ports; ++i) {
          used[{binding.address, each}].erase(binding.port + i);
        }
      }
    }
  }
  EXPECT_GT(full, 100U);
  for (const auto& one : held) pool.give_back(one.binding, one.protocol, one.host);
  for (unsigned i = 0; i < kPoolSize; ++i) EXPECT_TRUE(pool.take({0, 1, Parity::kAny, {}}));
}

}  // namespace
}  // namespace simco::policy
