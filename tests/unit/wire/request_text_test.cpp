// Requests made of text: their meaning, and the messages about wrong text.
#include <gtest/gtest.h>

#include <stdexcept>

#include "simco/wire/messages.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;

TEST(RequestText, APinholeForACall) {
  const auto request = PerRequest::udp("10.0.0.5:5004/2", "192.0.2.7:6000/2", 60s);
  EXPECT_EQ(request.internal.location, Location::kInternal);
  EXPECT_EQ(request.external.location, Location::kExternal);
  EXPECT_EQ(request.internal.protocol, kProtocolUdp);
  EXPECT_EQ(request.internal.port, 5004);
  EXPECT_EQ(request.internal.port_range, 2);
  EXPECT_EQ(to_text(request.internal), "10.0.0.5:5004/2");
  EXPECT_EQ(to_text(request.external), "192.0.2.7:6000/2");
  EXPECT_EQ(request.parameters.direction, Direction::kBidirectional);
  EXPECT_EQ(request.lifetime, Lifetime{60});
  EXPECT_EQ(request.group, std::nullopt);
}

TEST(RequestText, AWildcardIsInbound) {
  EXPECT_EQ(PerRequest::udp("10.0.0.5:5004", "any", 1s).parameters.direction, Direction::kInbound);
  EXPECT_EQ(PerRequest::tcp("10.0.0.5:80", "192.0.2.7", 1s).parameters.direction,
            Direction::kInbound);
  EXPECT_EQ(PerRequest::tcp("10.0.0.5:80", "192.0.2.0/24:90", 1s).parameters.direction,
            Direction::kInbound);
  EXPECT_EQ(PerRequest::of(50, "10.0.0.5", "192.0.2.7", 1s).parameters.direction,
            Direction::kBidirectional);  // ESP has no ports to wildcard
}

TEST(RequestText, AnyTakesTheVersionOfTheOtherSide) {
  const auto request = PerRequest::udp("[2001:db8::5]:5004", "any:6000", 60s);
  EXPECT_EQ(request.external.ip_version, IpVersion::kIpv6);
  EXPECT_EQ(PdrRequest::of(kProtocolAny, "any", "any", 60s).internal.form,
            AddressForm::kProtocolsOnly);
}

TEST(RequestText, EachRequestForARule) {
  const auto reserved = PrrRequest::udp(2, 30s, ReservedParity::kEven);
  EXPECT_EQ(reserved.parameters.port_range, 2);
  EXPECT_EQ(reserved.parameters.parity, ReservedParity::kEven);
  EXPECT_EQ(reserved.parameters.protocol, kProtocolUdp);
  EXPECT_EQ(PrrRequest::tcp(1, 30s).parameters.protocol, kProtocolTcp);
  const auto enabled = PeaRequest::tcp(PolicyRuleId{7}, "10.0.0.5:5060", "192.0.2.7:5061", 60s);
  EXPECT_EQ(enabled.pid, PolicyRuleId{7});
  EXPECT_EQ(enabled.external.port, 5061);
  EXPECT_EQ(PeaRequest::udp(PolicyRuleId{8}, "10.0.0.5", "any", 60s).internal.protocol,
            kProtocolUdp);
  const auto blocked = PdrRequest::udp("10.0.0.5", "any:53", 60s);
  EXPECT_EQ(to_text(blocked.external), "any:53");
  EXPECT_EQ(PdrRequest::tcp("10.0.0.5", "any", 60s).external.protocol, kProtocolTcp);
}

/// The message of make() about its arguments.
template <class Make>
std::string complaint(Make make) {
  try {
    make();
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

TEST(RequestText, WrongTextIsNamed) {
  const auto udp = [](const char* internal, const char* external, std::chrono::seconds lifetime) {
    return complaint([=] { PerRequest::udp(internal, external, lifetime); });
  };
  EXPECT_TRUE(udp("10.0.0.300:1", "any", 60s).starts_with("internal '10.0.0.300:1': "));
  EXPECT_TRUE(udp("10.0.0.5:1", "phone.example", 60s).starts_with("external 'phone.example': "));
  EXPECT_EQ(udp("10.0.0.5:1", "any", 0s), "lifetime of 0 s: expected 1 to 4294967295 s");
  EXPECT_EQ(udp("10.0.0.5:1", "any", 4'294'967'296s),
            "lifetime of 4294967296 s: expected 1 to 4294967295 s");
  EXPECT_EQ(udp("10.0.0.5:1/2", "192.0.2.7:9/4", 60s),
            "internal has 2 ports, external 4: they are paired, so name as many on both sides");
  EXPECT_NO_THROW(udp("10.0.0.5:1/65535", "192.0.2.7:9/4", 60s));  // it fits any other (4.3.8)
  EXPECT_EQ(complaint([] { PdrRequest::of(kProtocolAny, "10.0.0.5:1", "any", 60s); }),
            "ports require a protocol: use udp(), tcp() or of(protocol, ...)");
  EXPECT_EQ(complaint([] { PrrRequest::udp(0, 60s); }), "0 ports: reserve at least one");
}

// A request filled in by hand has the sides and one port by default.
TEST(RequestText, DefaultsAreARule) {
  const PerRequest request;
  EXPECT_EQ(request.internal.location, Location::kInternal);
  EXPECT_EQ(request.external.location, Location::kExternal);
  EXPECT_EQ(request.internal.port_range, 1);
}

}  // namespace
}  // namespace simco
