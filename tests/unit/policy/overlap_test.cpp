#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>
#include <set>

#include "middlebox/policy/overlap_index.hpp"
#include "tests/support/figures.hpp"

namespace simco::policy {
namespace {

AddressTuple tuple(const char* prefix, std::uint8_t protocol, std::uint16_t port,
                   std::uint16_t range = 1) {
  const auto parsed = *parse_prefix(prefix);
  AddressTuple result;
  result.ip_version = parsed.address.version;
  result.prefix_length = parsed.length;
  result.address = parsed.address.octets;
  result.protocol = protocol;
  result.port = port;
  result.port_range = range;
  return result;
}

Traffic traffic(const AddressTuple& internal, const AddressTuple& external) {
  return traffic_of(internal, external);
}

// The example of RFC 4540 section 8.8.1.
TEST(Traffic, TheExampleOfTheRfcOverlaps) {
  const auto per =
      traffic(tuple("10.1.8.3", kProtocolUdp, 12345), tuple("0.0.0.0/0", kProtocolUdp, 0));
  const auto pdr =
      traffic(tuple("0.0.0.0/0", kProtocolUdp, 0), tuple("192.0.2.100", kProtocolUdp, 0));
  EXPECT_TRUE(overlap(per, pdr));
  EXPECT_TRUE(overlap(pdr, per));
}

TEST(Traffic, OverlapsOnlyWhereEverythingMeets) {
  const auto base = traffic(tuple("10.0.0.0/24", 17, 5000, 10), tuple("192.0.2.7", 17, 0));
  const auto meets = [&](const AddressTuple& internal, const AddressTuple& external) {
    const bool one = overlap(base, traffic(internal, external));
    EXPECT_EQ(one, overlap(traffic(internal, external), base));
    return one;
  };
  const auto host = tuple("192.0.2.7", 17, 9);
  EXPECT_TRUE(meets(tuple("10.0.0.9", 17, 5009), host));
  EXPECT_FALSE(meets(tuple("10.0.0.9", 17, 5010), host));
  EXPECT_FALSE(meets(tuple("10.0.0.9", 17, 4999), host));
  EXPECT_TRUE(meets(tuple("10.0.0.9", 17, 4999, 2), host));
  EXPECT_FALSE(meets(tuple("10.0.1.9", 17, 5000), host));
  EXPECT_TRUE(meets(tuple("10.0.0.0/8", 17, 5000), host));
  EXPECT_FALSE(meets(tuple("10.0.0.9", 6, 5000), tuple("192.0.2.7", 6, 9)));
  EXPECT_FALSE(meets(tuple("10.0.0.9", 17, 5000), tuple("192.0.2.8", 17, 9)));
  // Any protocol: the port fields are irrelevant.
  EXPECT_TRUE(meets(tuple("10.0.0.9", 0, 1), tuple("192.0.2.7", 0, 1)));
  EXPECT_TRUE(meets(test::protocols_only(Location::kInternal, 17),
                    test::protocols_only(Location::kExternal, 17)));
  EXPECT_FALSE(meets(test::protocols_only(Location::kInternal, 6),
                     test::protocols_only(Location::kExternal, 6)));
  auto v6 = test::protocols_only(Location::kInternal, 17);
  v6.ip_version = IpVersion::kIpv6;
  EXPECT_FALSE(meets(v6, v6));
}

TEST(Traffic, PrefixArithmeticAtTheEdges) {
  const Address128 all{~0ULL, ~0ULL};
  for (unsigned length = 0; length <= 128; ++length) {
    const auto low = lowest_of(all, length);
    unsigned ones = static_cast<unsigned>(std::popcount(low.high) + std::popcount(low.low));
    EXPECT_EQ(ones, length);
    EXPECT_EQ(highest_of({}, length), (Address128{~low.high, ~low.low})) << length;
  }
}

// --- The index against a comparison of all pairs -----------------------------------------------

/// Random traffic from a small world, so that much of it meets.
class World {
 public:
  explicit World(unsigned seed) : random_(seed) {}

  Traffic traffic() {
    const std::uint8_t protocol = pick({0, 6, 17, 17, 17, 1});
    const bool v6 = below(4) == 0;
    return policy::traffic_of(tuple(protocol, v6), tuple(protocol, v6));
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

 private:
  std::uint8_t pick(std::initializer_list<int> from) {
    return static_cast<std::uint8_t>(
        *(from.begin() + below(static_cast<std::uint32_t>(from.size()))));
  }
  AddressTuple tuple(std::uint8_t protocol, bool v6) {
    AddressTuple result;
    result.ip_version = v6 ? IpVersion::kIpv6 : IpVersion::kIpv4;
    const unsigned bits = address_bits(result.ip_version);
    result.protocol = protocol;
    if (below(10) == 0) {
      result.form = AddressForm::kProtocolsOnly;
      return result;
    }
    result.address[0] = std::byte{10};
    result.address[1] = static_cast<std::byte>(below(3));
    result.address[bits / 8 - 1] = static_cast<std::byte>(below(6) + (below(8) == 0 ? 250 : 0));
    const unsigned lengths[] = {0, 7, 9, 15, 16, bits - 2, bits - 1, bits, bits, bits};
    result.prefix_length = static_cast<std::uint8_t>(lengths[below(10)]);
    if (below(3) != 0) {
      result.port = static_cast<std::uint16_t>(below(20) == 0 ? 65535 : 1 + below(60));
      const auto room = static_cast<std::uint16_t>(65535 - result.port + 1);
      result.port_range = static_cast<std::uint16_t>(
          std::min<unsigned>(room, below(10) == 0 ? 1 + below(65535) : 1 + below(9)));
    }
    return result;
  }

  std::mt19937 random_;
};

TEST(OverlapIndex, AgreesWithAllPairsOverARandomRun) {
  World world(4540);
  OverlapIndex index;
  std::map<std::uint32_t, Traffic> filed;
  std::uint32_t next = 0;
  std::uint64_t hits = 0;
  for (int step = 0; step < 30'000; ++step) {
    const auto what = world.below(10);
    if (what < 4 || filed.empty()) {
      const auto traffic = world.traffic();
      index.insert(RuleSlot{next}, traffic);
      filed.emplace(next++, traffic);
    } else if (what < 8 && filed.size() > world.below(800)) {
      const auto at =
          std::next(filed.begin(), world.below(static_cast<std::uint32_t>(filed.size())));
      index.erase(RuleSlot{at->first}, at->second);
      filed.erase(at);
    } else {
      const auto query = world.traffic();
      std::set<std::uint32_t> wanted;
      for (const auto& [slot, traffic] : filed) {
        if (overlap(traffic, query)) wanted.insert(slot);
      }
      const auto confirm = [&](RuleSlot slot) { return overlap(filed.at(slot.value), query); };
      std::vector<RuleSlot> found;
      std::uint32_t budget = 1'000'000;
      ASSERT_TRUE(index.find_all(query, budget, confirm, found));
      std::set<std::uint32_t> got;
      for (const auto slot : found) {
        ASSERT_TRUE(got.insert(slot.value).second) << "found twice";
      }
      ASSERT_EQ(got, wanted) << step;
      ASSERT_EQ(index.find_any(query, confirm), !wanted.empty());
      hits += wanted.size();
    }
    ASSERT_EQ(index.size(), filed.size());
  }
  EXPECT_GT(hits, 10'000U);
  std::vector<RuleSlot> found;
  std::uint32_t budget = 100;
  Traffic everything;
  everything.protocol = kProtocolAny;
  EXPECT_FALSE(index.find_all(everything, budget, [](RuleSlot) { return true; }, found));
  EXPECT_EQ(budget, 0U);
  for (const auto& [slot, traffic] : filed) index.erase(RuleSlot{slot}, traffic);
  EXPECT_TRUE(index.empty());
}

}  // namespace
}  // namespace simco::policy
