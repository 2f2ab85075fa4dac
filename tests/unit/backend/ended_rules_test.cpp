// Which flows are those of rules that have ended.
#include "middlebox/backend/nftables/flows/ended_rules.hpp"

#include <gtest/gtest.h>

#include "simco/wire/tuple_text.hpp"

namespace simco::backend::nftables {
namespace {

AddressTuple udp_tuple(const std::string& text, Location location) {
  return parse_endpoint(text)->tuple(IpVersion::kIpv4, kProtocolUdp, location);
}

RuleRecord ended(const std::string& internal, const std::string& external) {
  RuleRecord change;
  change.pid = PolicyRuleId{1};
  change.internal = udp_tuple(internal, Location::kInternal);
  change.external = udp_tuple(external, Location::kExternal);
  change.parameters.direction = Direction::kInbound;
  return change;
}

Ends ends(const std::string& internal, const std::string& external,
          std::uint8_t protocol = kProtocolUdp) {
  const auto one = udp_tuple(internal, Location::kInternal);
  const auto other = udp_tuple(external, Location::kExternal);
  return {IpVersion::kIpv4, protocol, one.address, other.address, one.port, other.port};
}

TEST(EndedRules, AnyPeer) {
  EndedRules rules;
  EXPECT_TRUE(rules.empty());
  for (int port = 5000; port < 5100; ++port) {
    rules.add(ended("10.0.0.2:" + std::to_string(port), "any"));
  }
  EXPECT_TRUE(rules.cover(ends("10.0.0.2:5004", "192.0.2.2:1")));
  EXPECT_TRUE(rules.cover(ends("10.0.0.2:5099", "192.0.2.77:65535")));
  EXPECT_FALSE(rules.cover(ends("10.0.0.2:5100", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.0.0.3:5004", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.0.0.2:5004", "192.0.2.2:1", kProtocolTcp)));
  EXPECT_FALSE(rules.cover_translated(ends("10.0.0.2:5004", "192.0.2.2:1")));
  rules.clear();
  EXPECT_TRUE(rules.empty());
  EXPECT_FALSE(rules.cover(ends("10.0.0.2:5004", "192.0.2.2:1")));
}

TEST(EndedRules, PrefixesPairsAndLargeRanges) {
  EndedRules rules;
  rules.add(ended("10.0.0.0/24:5004", "192.0.2.0/28"));
  rules.add(ended("10.1.0.1:6000/2", "192.0.2.2:7000/2"));
  rules.add(ended("10.2.0.1:20000/20000", "192.0.2.2"));
  EXPECT_TRUE(rules.cover(ends("10.0.0.200:5004", "192.0.2.15:9")));
  EXPECT_FALSE(rules.cover(ends("10.0.0.200:5004", "192.0.2.16:9")));
  EXPECT_TRUE(rules.cover(ends("10.1.0.1:6001", "192.0.2.2:7001")));
  EXPECT_FALSE(rules.cover(ends("10.1.0.1:6001", "192.0.2.2:7000"))) << "the n-th with the n-th";
  EXPECT_TRUE(rules.cover(ends("10.2.0.1:39999", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.2.0.1:40000", "192.0.2.2:1")));
}

TEST(EndedRules, TranslatedOnesAreKnownByTheirBinding) {
  auto bound = ended("10.0.0.2:5004", "any");
  bound.outside = udp_tuple("198.51.100.1:30000", Location::kOutside);
  EndedRules rules;
  rules.add(bound);
  EXPECT_TRUE(rules.cover_translated(ends("198.51.100.1:30000", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover_translated(ends("198.51.100.1:30001", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.0.0.2:5004", "192.0.2.2:1")));
  EndedRules other;
  other.swap(rules);
  EXPECT_TRUE(rules.empty());
  EXPECT_TRUE(other.cover_translated(ends("198.51.100.1:30000", "192.0.2.2:1")));
}

// The number of comparisons for a flow does not grow with any kind of rules.
TEST(EndedRules, LargeRangesOfManyHostsAreOnePlace) {
  EndedRules rules;
  for (int i = 0; i < 5000; ++i) {
    const auto host = "10.0." + std::to_string(i % 200) + ".1";
    const auto first = std::to_string(1024 + i / 200 * 1000);
    rules.add(ended(host + ":" + first + "/2000", "192.0.2.2"));
    rules.add(ended(host, "192.0.2.2:" + first + "/1025"));
  }
  EXPECT_EQ(rules.places(), 2U);
  EXPECT_TRUE(rules.cover(ends("10.0.199.1:1024", "192.0.2.2:1")));
  EXPECT_TRUE(rules.cover(ends("10.0.199.1:27023", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.0.199.1:27024", "192.0.2.2:1")));
  EXPECT_TRUE(rules.cover(ends("10.0.199.1:27024", "192.0.2.2:26048")));
  EXPECT_FALSE(rules.cover(ends("10.0.200.1:1024", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.0.199.1:1024", "192.0.2.2:1", kProtocolTcp)));
}

TEST(EndedRules, RangesThatAreApartStayApart) {
  EndedRules rules;
  rules.add(ended("10.0.0.1:40000/2000", "192.0.2.2"));
  rules.add(ended("10.0.0.1:2000/2000", "192.0.2.2"));
  rules.add(ended("10.0.0.1:42000/2000", "192.0.2.2"));
  for (const auto* inside : {"2000", "3999", "40000", "41999", "42000", "43999"}) {
    EXPECT_TRUE(rules.cover(ends(std::string("10.0.0.1:") + inside, "192.0.2.2:1"))) << inside;
  }
  for (const auto* outside : {"1999", "4000", "39999", "44000"}) {
    EXPECT_FALSE(rules.cover(ends(std::string("10.0.0.1:") + outside, "192.0.2.2:1"))) << outside;
  }
}

TEST(EndedRules, ManyPrefixLengthsAreRounded) {
  EndedRules rules;
  for (int internal = 0; internal <= 32; ++internal) {
    for (int external = 0; external <= 32; ++external) {
      rules.add(ended("10.0.0.0/" + std::to_string(internal) + ":5004",
                      "192.0.2.0/" + std::to_string(external)));
    }
  }
  EXPECT_LE(rules.places(), 64U + 25U);
  EXPECT_TRUE(rules.cover(ends("10.0.0.0:5004", "192.0.2.0:1")));
  EndedRules narrow;
  for (int bits = 9; bits <= 32; ++bits) {
    for (const auto* port : {"", ":5004", ":5004/2", ":5004/2000"}) {
      narrow.add(ended("10.0.0.0/" + std::to_string(bits) + port, "192.0.2.0/25"));
    }
  }
  EXPECT_LE(narrow.places(), 64U + 25U);
  EXPECT_TRUE(narrow.cover(ends("10.0.0.0:5004", "192.0.2.127:1")));
  EXPECT_FALSE(narrow.cover(ends("11.0.0.0:5004", "192.0.2.127:1"))) << "no further than needed";
  EXPECT_FALSE(narrow.cover_translated(ends("10.0.0.0:5004", "192.0.2.127:1")));
}

TEST(EndedRules, OfVeryManyPortsTheHostsAreRemembered) {
  EndedRules rules;
  for (int host = 0; host < 200; ++host) {
    rules.add(ended("10.0.0." + std::to_string(host) + ":1000/1001", "192.0.2.2"));
  }
  EXPECT_TRUE(rules.cover(ends("10.0.0.0:1500", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.0.0.0:3000", "192.0.2.2:1"))) << "there was room for its ports";
  EXPECT_TRUE(rules.cover(ends("10.0.0.199:1500", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.0.0.200:1500", "192.0.2.2:1")));
  EXPECT_FALSE(rules.cover(ends("10.0.0.199:1500", "192.0.2.3:1")));
  EXPECT_LE(rules.places(), 4U);
}

}  // namespace
}  // namespace simco::backend::nftables
