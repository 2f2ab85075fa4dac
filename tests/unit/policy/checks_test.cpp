#include "middlebox/policy/checks.hpp"

#include "middlebox/policy/engine.hpp"

#include <gtest/gtest.h>

#include "tests/support/figures.hpp"

namespace simco::policy {
namespace {

using enum NegativeReplyCode;

Capabilities everything() {
  Capabilities result;
  result.internal_wildcards = result.external_wildcards = result.port_wildcards = true;
  result.internal_versions = result.external_versions = 3;
  return result;
}

struct Pair {
  AddressTuple internal = test::ipv4(Location::kInternal, {10, 0, 0, 5}, 5004);
  AddressTuple external = test::ipv4(Location::kExternal, {192, 0, 2, 7}, 6000);
};

std::optional<NegativeReplyCode> check(const Pair& pair, Direction direction = Direction::kInbound,
                                       const Capabilities& capabilities = everything()) {
  return check_tuples(pair.internal, pair.external, direction, capabilities, all_protocols());
}

TEST(Checks, APinholeIsFine) {
  for (const auto d : {Direction::kInbound, Direction::kOutbound, Direction::kBidirectional}) {
    EXPECT_EQ(check({}, d), std::nullopt);
  }
}

TEST(Checks, Locations) {
  for (const auto location :
       {Location::kInternal, Location::kInside, Location::kOutside, Location::kExternal}) {
    Pair internal;
    internal.internal.location = location;
    EXPECT_EQ(check(internal).has_value(), location != Location::kInternal);
    Pair external;
    external.external.location = location;
    EXPECT_EQ(check(external).has_value(), location != Location::kExternal);
  }
}

TEST(Checks, ProtocolsAndVersionsMustAgree) {
  Pair pair;
  pair.external.protocol = kProtocolTcp;
  EXPECT_EQ(check(pair), kInconsistentRequest);
  Pair mixed;
  mixed.external = test::ipv6(Location::kExternal, 7, 6000);
  EXPECT_EQ(check(mixed), kIpVersionMismatch);
  auto translating = everything();
  translating.protocol_translation = true;
  EXPECT_EQ(check(mixed, Direction::kInbound, translating), std::nullopt);
  auto only_ipv4 = everything();
  only_ipv4.external_versions = 1;
  const Pair six{test::ipv6(Location::kInternal, 5, 5004),
                 test::ipv6(Location::kExternal, 7, 6000)};
  EXPECT_EQ(check(six), std::nullopt);
  EXPECT_EQ(check(six, Direction::kInbound, only_ipv4), kIpVersionMismatch);
}

TEST(Checks, PrefixLengths) {
  Pair pair;
  pair.internal.prefix_length = 33;
  EXPECT_EQ(check(pair), kIllegalAddress);
  Pair six{test::ipv6(Location::kInternal, 5, 5004), test::ipv6(Location::kExternal, 7, 6000)};
  six.external.prefix_length = 129;
  EXPECT_EQ(check(six), kIllegalAddress);
  // With protocols only, the prefix length is irrelevant.
  Pair only;
  only.external = test::protocols_only(Location::kExternal, kProtocolUdp);
  only.external.prefix_length = 255;
  EXPECT_EQ(check(only), std::nullopt);
}

TEST(Checks, PortRanges) {
  const auto with = [](std::uint16_t port, std::uint16_t range) {
    Pair pair;
    pair.internal.port = pair.external.port = port;
    pair.internal.port_range = pair.external.port_range = range;
    return check(pair);
  };
  EXPECT_EQ(with(5000, 0), kIllegalPortRange);
  EXPECT_EQ(with(65535, 1), std::nullopt);
  EXPECT_EQ(with(65535, 2), kIllegalPortRange);
  EXPECT_EQ(with(65000, 536), std::nullopt);
  EXPECT_EQ(with(65000, 537), kIllegalPortRange);
  EXPECT_EQ(with(1, 65535), std::nullopt);
  EXPECT_EQ(with(0, 0), std::nullopt);  // wildcarded: the range is irrelevant
  Pair different;
  different.external.port_range = 3;
  EXPECT_EQ(check(different), kInconsistentRequest);
  Pair all_ports = different;
  all_ports.external.port = 1;
  all_ports.external.port_range = 0xFFFF;
  EXPECT_EQ(check(all_ports), std::nullopt);
  Pair any_protocol = different;
  any_protocol.internal.protocol = any_protocol.external.protocol = kProtocolAny;
  any_protocol.internal.port_range = 0;
  EXPECT_EQ(check(any_protocol), std::nullopt);
}

TEST(Checks, BothWaysAllowsNoWildcardButTheProtocol) {
  Pair prefix;
  prefix.internal.prefix_length = 31;
  Pair port;
  port.external.port = 0;
  Pair only;
  only.external = test::protocols_only(Location::kExternal, kProtocolUdp);
  for (const Pair& pair : {prefix, port, only}) {
    EXPECT_EQ(check(pair, Direction::kBidirectional), kInconsistentRequest);
    EXPECT_EQ(check(pair, Direction::kInbound), std::nullopt);
  }
  Pair protocol;
  protocol.internal.protocol = protocol.external.protocol = kProtocolAny;
  protocol.internal.port = 0;
  EXPECT_EQ(check(protocol, Direction::kBidirectional), std::nullopt);
}

TEST(Checks, WildcardsThatAreNotSupported) {
  Pair internal;
  internal.internal.prefix_length = 24;
  auto none = everything();
  none.internal_wildcards = false;
  EXPECT_EQ(check(internal, Direction::kInbound, none), kWildcardingNotSupported);
  Pair external;
  external.external.prefix_length = 0;
  none = everything();
  none.external_wildcards = false;
  EXPECT_EQ(check(external, Direction::kInbound, none), kWildcardingNotSupported);
  EXPECT_EQ(check(internal, Direction::kInbound, none), std::nullopt);
  Pair port;
  port.internal.port = 0;
  none = everything();
  none.port_wildcards = false;
  EXPECT_EQ(check(port, Direction::kInbound, none), kWildcardingNotSupported);
}

// The order of doc/rfc4540.md, reading 9: the first check that fails gives the reply.
TEST(Checks, TheFirstFaultInTheOrderGivesTheReply) {
  Pair pair;
  pair.internal.port = 0;                       // wildcard, both ways
  pair.external.port_range = 0;                 // illegal range
  pair.external.prefix_length = 40;             // illegal address
  pair.internal.ip_version = IpVersion::kIpv6;  // version mismatch
  pair.external.protocol = kProtocolTcp;        // inconsistent
  const auto direction = Direction::kBidirectional;
  EXPECT_EQ(check(pair, direction), kInconsistentRequest);
  pair.external.protocol = kProtocolUdp;
  EXPECT_EQ(check(pair, direction), kIpVersionMismatch);
  pair.internal.ip_version = IpVersion::kIpv4;
  EXPECT_EQ(check(pair, direction), kIllegalAddress);
  pair.external.prefix_length = 32;
  EXPECT_EQ(check(pair, direction), kIllegalPortRange);
  pair.external.port_range = 2;
  EXPECT_EQ(check(pair, direction), kInconsistentRequest);
}

}  // namespace
}  // namespace simco::policy
