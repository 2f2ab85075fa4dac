// Which elements a rule becomes.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "middlebox/backend/match/element.hpp"
#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/elements/element_writer.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::backend::match {
namespace {

using nftables::set_name;
using rule::RuleKind;
using rule::RuleRecord;

AddressTuple tuple(const std::string& text, Location location,
                   std::uint8_t protocol = kProtocolUdp) {
  return parse_endpoint(text)->tuple(IpVersion::kIpv4, protocol, location);
}

RuleRecord rule(const std::string& internal, const std::string& external,
                Direction direction = Direction::kBidirectional,
                std::uint8_t protocol = kProtocolUdp) {
  RuleRecord change;
  change.pid = PolicyRuleId{1};
  change.internal = tuple(internal, Location::kInternal, protocol);
  change.external = tuple(external, Location::kExternal, protocol);
  change.parameters.direction = direction;
  return change;
}

std::vector<Element> elements_of(const RuleRecord& change) {
  std::vector<Element> elements;
  EXPECT_TRUE(make_elements(change, elements));
  return elements;
}

/// Port bits and ports of each element: "16:5004-16:6004".
std::multiset<std::string> ports_of(const std::vector<Element>& elements) {
  std::multiset<std::string> result;
  for (const auto& [mask, key, target] : elements) {
    result.insert(
        std::to_string(mask.internal_port_bits) + ":" + std::to_string(key.internal_port) + "-" +
        std::to_string(mask.external_port_bits) + ":" + std::to_string(key.external_port));
  }
  return result;
}
using Ports = std::multiset<std::string>;

TEST(Elements, PairsMayBeApart) {
  for (const auto* external : {"192.0.2.2:6004/4", "any"}) {
    std::vector<Element> elements;
    EXPECT_TRUE(make_elements(rule("10.0.0.2:5004/4", external), elements, PortPairs::kApart));
    ASSERT_EQ(elements.size(), 4U);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      EXPECT_EQ(elements[i].mask.internal_port_bits, 16);
      EXPECT_EQ(elements[i].key.internal_port, 5004 + i);
    }
  }
}

TEST(Elements, PairsAreSharedWhereBothSidesHaveThem) {
  EXPECT_EQ(ports_of(elements_of(rule("10.0.0.2:5004/2", "192.0.2.2:6004/2"))),
            Ports{"15:5004-15:6004"});
  EXPECT_EQ(ports_of(elements_of(rule("10.0.0.2:5004/2", "192.0.2.2:6005/2"))),
            (Ports{"16:5004-16:6005", "16:5005-16:6006"}));
  EXPECT_EQ(ports_of(elements_of(rule("10.0.0.2:5003/4", "192.0.2.2:6005/4"))),
            (Ports{"16:5003-16:6005", "15:5004-15:6006", "16:5006-16:6008"}));
  EXPECT_EQ(ports_of(elements_of(rule("10.0.0.2:5004/2", "192.0.2.2", Direction::kInbound))),
            Ports{"15:5004-0:0"});
}

// Every pair of ports that the rule names is in exactly one element, and no other pair is in any.
TEST(Elements, RangesCoverEachPairOfPortsOnce) {
  for (std::uint32_t size = 1; size <= 40; ++size) {
    for (const auto& [internal, external] : {std::pair(100U, 200U), {101U, 201U}, {100U, 201U}}) {
      const auto text = [&](const char* host, std::uint32_t port) {
        return std::string(host) + ":" + std::to_string(port) + "/" + std::to_string(size);
      };
      const auto elements =
          elements_of(rule(text("10.0.0.2", internal), text("192.0.2.2", external)));
      for (std::uint32_t i = 98; i < 145; ++i) {
        for (std::uint32_t e = 198; e < 245; ++e) {
          const auto hits = std::ranges::count_if(elements, [&](const Element& element) {
            const bool pair = element.mask.internal_port_bits == 15;
            const std::uint32_t bits = pair ? 0xFFFE : 0xFFFF;
            return (i & bits) == element.key.internal_port &&
                   (e & bits) == element.key.external_port && (!pair || i % 2 == e % 2);
          });
          const bool named =
              i >= internal && i < internal + size && e >= external && e - external == i - internal;
          EXPECT_EQ(hits, named ? 1 : 0) << size << " " << i << " " << e;
        }
      }
      EXPECT_LE(elements.size(), internal % 2 == external % 2 ? size / 2 + 2 : size);
    }
  }
}

TEST(Elements, MasksSayWhatCounts) {
  const auto set_of = [](const RuleRecord& change) {
    return set_name(elements_of(change)[0].mask);
  };
  EXPECT_EQ(set_of(rule("10.0.0.0/8:5004", "any", Direction::kInbound)),
            "enable4-in_8.16_0.0_proto");
  EXPECT_EQ(set_of(rule("10.0.0.2:80", "any", Direction::kInbound, kProtocolTcp)),
            "enable4-in-conn_32.16_0.0_proto");
  EXPECT_EQ(set_of(rule("10.0.0.2", "192.0.2.0/24", Direction::kOutbound, kProtocolAny)),
            "enable4-out_32.0_24.0");
  EXPECT_EQ(set_of(rule("any", "any", Direction::kOutbound, kProtocolAny)), "enable4-out_0.0_0.0");
  auto disable = rule("10.0.0.2", "any");
  disable.kind = RuleKind::kDisable;
  EXPECT_EQ(set_of(disable), "disable4_32.0_0.0_proto");
}

TEST(Elements, LargeRangesAreIntervalsOrRefused) {
  const auto elements = elements_of(rule("10.0.0.2:1000/2000", "192.0.2.2", Direction::kInbound));
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_TRUE(elements[0].mask.intervals);
  EXPECT_EQ(elements[0].key.internal_port, 1000);
  EXPECT_EQ(elements[0].key.internal_last, 2999);
  EXPECT_EQ(elements[0].key.external_port, 0);
  EXPECT_EQ(elements[0].key.external_last, 65535);
  std::vector<Element> none;
  EXPECT_FALSE(make_elements(rule("10.0.0.2:1000/2000", "192.0.2.2:1000/2000"), none));
  EXPECT_TRUE(make_elements(rule("10.0.0.2:1000/1024", "192.0.2.2:1000/1024"), none));
}

TEST(Elements, IntervalsSayTheSameAsMasks) {
  std::vector<Element> intervals;
  add_intervals(elements_of(rule("10.0.0.0/8:5004/2", "any", Direction::kInbound))[0], intervals);
  ASSERT_EQ(intervals.size(), 1U);
  EXPECT_EQ(intervals[0].key.internal_last, 5005);
  EXPECT_EQ(intervals[0].key.internal_bits, 8);
  intervals.clear();
  add_intervals(elements_of(rule("10.0.0.2:5004/2", "192.0.2.2:6004/2"))[0], intervals);
  ASSERT_EQ(intervals.size(), 2U) << "odd ports go with odd ports";
  EXPECT_FALSE(overlap(intervals[0].key, intervals[1].key));
}

TEST(Elements, OverlapOfIntervals) {
  const auto key = [](const std::string& internal, const std::string& external) {
    std::vector<Element> intervals;
    add_intervals(elements_of(rule(internal, external, Direction::kInbound))[0], intervals);
    return intervals[0].key;
  };
  EXPECT_TRUE(overlap(key("10.0.0.0/8:5004", "any"), key("10.1.0.0/16:5004", "192.0.2.2")));
  EXPECT_FALSE(overlap(key("10.0.0.0/8:5004", "any"), key("10.1.0.0/16:5005", "192.0.2.2")));
  EXPECT_FALSE(overlap(key("10.0.0.0/8", "any"), key("11.0.0.0/8", "any")));
}

// --- NAT -----------------------------------------------------------------------------------------

std::vector<std::string> sets_of(const RuleRecord& change) {
  std::vector<std::string> names;
  for (const auto& element : elements_of(change)) names.push_back(set_name(element.mask));
  std::ranges::sort(names);
  return names;
}

TEST(Elements, ANatTranslatesWhatTheDirectionLetsThrough) {
  auto both = rule("10.0.0.2:5004", "192.0.2.2:6004");
  both.outside = tuple("198.51.100.1:30000", Location::kOutside);
  EXPECT_EQ(sets_of(both), (std::vector<std::string>{"dnat-outside4_32.16_32.16_proto_port",
                                                     "enable4_32.16_32.16_proto",
                                                     "snat-outside4_32.16_32.16_proto_port"}));
  auto in = rule("10.0.0.2:5004", "any", Direction::kInbound);
  in.outside = both.outside;
  EXPECT_EQ(sets_of(in), (std::vector<std::string>{"dnat-outside4_32.16_0.0_proto_port",
                                                   "enable4-in_32.16_0.0_proto"}));
  both.inside = tuple("10.9.0.1:40000", Location::kInside);
  EXPECT_EQ(sets_of(both).size(), 5U) << "a twice NAT has two more";
}

TEST(Elements, AWholeRangeIsBoundOneByOne) {
  auto in = rule("10.0.0.2", "192.0.2.2:6004", Direction::kInbound);
  in.outside = tuple("198.51.100.1:1024/64512", Location::kOutside);
  const auto elements = elements_of(in);
  const auto nat = std::ranges::find_if(
      elements, [](const Element& element) { return element.mask.translates(); });
  ASSERT_NE(nat, elements.end());
  EXPECT_FALSE(nat->mask.target_port) << "ports stay as they are";
  EXPECT_EQ(nat->mask.first_port, 1024);
  EXPECT_EQ(nat->mask.last_port, 65535);
}

// --- Keys and the store --------------------------------------------------------------------------

TEST(Elements, KeysAreWhatTheKernelLoads) {
  const auto element = elements_of(rule("10.0.0.2:5004", "192.0.2.2:6004"))[0];
  const auto key = key_octets(element.mask, element.key);
  const std::array<int, 20> expected = {10, 0, 0,    2,    192, 0, 2,    2,    17, 0,
                                        0,  0, 0x13, 0x8C, 0,   0, 0x17, 0x74, 0,  0};
  ASSERT_EQ(key.size, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(key.octets[i]), expected[i]) << i;
  }
}

// The keys of chains and of elements are made separately.
TEST(Elements, KeysHaveTheFieldsThatPacketsAreLookedUpBy) {
  Key key;
  key.internal.fill(std::byte{1});
  key.external.fill(std::byte{2});
  key.protocol = 3;
  key.internal_port = key.internal_last = 0x0404;
  key.external_port = key.external_last = 0x0505;
  const auto marker = [](Field field, IpVersion version) {
    switch (field) {
      case Field::kInternalAddress: return std::byte{1};
      case Field::kExternalAddress: return std::byte{2};
      case Field::kProtocol: return std::byte{3};
      case Field::kInternalPort: return std::byte{4};
      case Field::kExternalPort: return std::byte{5};
      case Field::kVersion: return std::byte{family_of(version)};
    }
    return std::byte{};
  };
  for (unsigned parts = 0; parts < 128; ++parts) {
    Mask mask;
    mask.version = (parts & 1) != 0 ? IpVersion::kIpv6 : IpVersion::kIpv4;
    mask.intervals = (parts & 2) != 0;
    mask.internal_bits = (parts & 4) != 0 ? 32 : 0;
    mask.external_bits = (parts & 8) != 0 ? 24 : 0;
    mask.protocol = (parts & 16) != 0;
    mask.internal_port_bits = (parts & 32) != 0 ? 15 : 0;
    mask.external_port_bits = (parts & 64) != 0 ? 16 : 0;
    const auto fields = fields_of(mask);
    std::vector<std::byte> expected;
    for (const Field field : fields) {
      const auto size = octets_of(field, mask.version);
      expected.insert(expected.end(), size, marker(field, mask.version));
      if (fields.size() > 1) expected.resize(expected.size() + round_up(size) - size);
    }
    const auto octets = key_octets(mask, key);
    EXPECT_EQ(key_size(mask), expected.size());
    ASSERT_EQ(octets.size, expected.size()) << parts;
    EXPECT_TRUE(std::ranges::equal(std::span(octets.octets).first(octets.size), expected)) << parts;
  }
}

}  // namespace
}  // namespace simco::backend::match
