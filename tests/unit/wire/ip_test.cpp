#include "simco/wire/ip.hpp"

#include <gtest/gtest.h>

#include "tests/support/figures.hpp"

namespace simco {
namespace {

TEST(Ip, AddressesReadAndWritten) {
  for (const char* text : {"0.0.0.0", "192.0.2.7", "255.255.255.255", "::", "2001:db8::7"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_string(*address), text);
  }
  for (const char* text :
       {"", "192.0.2", "192.0.2.256", "192.0.2.7 ", "host", ":::", "1.2.3.4/8"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Ip, PrefixesReadAndWritten) {
  for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "192.0.2.6/31", "::/0", "2001:db8::/32"}) {
    const auto prefix = parse_prefix(text);
    ASSERT_TRUE(prefix) << text;
    EXPECT_EQ(to_string(*prefix), text);
  }
  EXPECT_EQ(parse_prefix("192.0.2.7")->length, 32);
  EXPECT_EQ(parse_prefix("2001:db8::7")->length, 128);
  EXPECT_EQ(to_string(*parse_prefix("192.0.2.7/32")), "192.0.2.7");
  for (const char* text : {"10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x",
                           "::1/64", "::/129", "10.0.0.0/256"}) {
    EXPECT_FALSE(parse_prefix(text)) << text;
  }
}

TEST(Ip, PrefixesContain) {
  const auto contains_ = [](const char* outer, const char* inner) {
    return contains(*parse_prefix(outer), *parse_prefix(inner));
  };
  EXPECT_TRUE(contains_("10.0.0.0/8", "10.1.2.3"));
  EXPECT_TRUE(contains_("10.0.0.0/8", "10.0.0.0/8"));
  EXPECT_FALSE(contains_("10.0.0.0/8", "0.0.0.0/0"));
  EXPECT_FALSE(contains_("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(contains_("10.0.0.4/30", "10.0.0.7"));
  EXPECT_FALSE(contains_("10.0.0.4/30", "10.0.0.8"));
  EXPECT_TRUE(contains_("0.0.0.0/0", "255.255.255.255"));
  EXPECT_FALSE(contains_("0.0.0.0/0", "::"));
  EXPECT_TRUE(contains_("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(contains_("2001:db8::/33", "2001:db8:8000::"));
}

TEST(Ip, TuplesStandForPrefixes) {
  auto tuple = test::ipv4(Location::kInternal, {10, 1, 2, 3}, 5);
  EXPECT_EQ(to_string(prefix_of(tuple)), "10.1.2.3");
  tuple.prefix_length = 20;
  EXPECT_EQ(to_string(prefix_of(tuple)), "10.1.0.0/20");
  tuple.prefix_length = 200;
  EXPECT_EQ(to_string(prefix_of(tuple)), "10.1.2.3");
  EXPECT_EQ(to_string(prefix_of(test::protocols_only(Location::kInternal, 17))), "0.0.0.0/0");
}

TEST(Masked, KeepsTheFirstBits) {
  IpAddress all{IpVersion::kIpv6, {}};
  all.octets.fill(std::byte{0xFF});
  for (unsigned length = 0; length <= 128; ++length) {
    const auto octets = masked(all, length).octets;
    for (unsigned bit = 0; bit < 128; ++bit) {
      const auto of_octet = std::byte{0x80} >> (bit % 8);
      EXPECT_EQ((octets[bit / 8] & of_octet) != std::byte{}, bit < length) << length << ' ' << bit;
    }
  }
}

}  // namespace
}  // namespace simco
