// simcoctl explains by comparing tuples the same rules that backends enforce by looking elements
// up.
#include "simco/packet/rule_match.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "middlebox/backend/match/element.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::packet {
namespace {

using backend::match::Element;
using backend::match::Ends;

AddressTuple side(const std::string& text, Location location, std::uint8_t protocol) {
  return parse_endpoint(text)->tuple(IpVersion::kIpv4, protocol, location);
}

bool is_hit(const Element& element, const Ends& ends) {
  using namespace backend::match;
  if (element.mask.intervals) return overlap(element.key, point_of(ends));
  return ports_match(element.mask, ends) && key_of(element.mask, ends) == element.key;
}

class Draw {
 public:
  std::uint32_t below(std::uint32_t limit) { return random_() % limit; }
  template <class T, std::size_t N>
  const T& of(const T (&choices)[N]) {
    return choices[below(N)];
  }

 private:
  std::mt19937 random_{1};
};

TEST(RuleMatch, AgreesWithTheElementsThatAreEnforced) {
  Draw draw;
  const char* internals[] = {"10.0.0.4", "10.0.0.4/31", "10.0.0.0/24", "any"};
  const char* externals[] = {"192.0.2.6", "192.0.2.6/31", "192.0.2.0/25", "any"};
  const char* ports[] = {"", ":4", ":4/2", ":5/2", ":3/4", ":2/65535"};
  int hits = 0;
  int compared = 0;
  for (int round = 0; round < 4000; ++round) {
    rule::RuleRecord rule;
    const std::uint8_t protocol = draw.below(8) == 0 ? kProtocolAny : kProtocolUdp;
    const bool with_ports = protocol != kProtocolAny;
    const std::string inner_ports = with_ports ? draw.of(ports) : "";
    std::string outer_ports = with_ports ? draw.of(ports) : "";
    const auto count = [](const std::string& text) {
      return text.substr(std::min(text.find('/'), text.size()));
    };
    if (!inner_ports.empty() && !outer_ports.empty() && count(inner_ports) != count(outer_ports) &&
        count(inner_ports) != "/65535" && count(outer_ports) != "/65535") {
      continue;  // refused as inconsistent
    }
    rule.internal = side(draw.of(internals) + inner_ports, Location::kInternal, protocol);
    rule.external = side(draw.of(externals) + outer_ports, Location::kExternal, protocol);
    if (draw.below(2) == 0) rule.kind = rule::RuleKind::kDisable;
    std::vector<Element> elements;
    if (!backend::match::make_elements(rule, elements)) continue;
    for (int i = 0; i < 40; ++i) {
      Packet packet{kProtocolUdp, *parse_address("10.0.0." + std::to_string(3 + draw.below(4))),
                    static_cast<std::uint16_t>(1 + draw.below(9)),
                    *parse_address("192.0.2." + std::to_string(5 + draw.below(4))),
                    static_cast<std::uint16_t>(1 + draw.below(9))};
      const Ends ends{IpVersion::kIpv4,       packet.protocol,      packet.internal.octets,
                      packet.external.octets, packet.internal_port, packet.external_port};
      const bool enforced = std::ranges::any_of(
          elements, [&](const Element& element) { return is_hit(element, ends); });
      const auto agreement = compare(rule.internal, rule.external, packet);
      ASSERT_TRUE(agreement);
      ASSERT_EQ(agreement->faults() == 0, enforced)
          << to_text(rule.internal) << " " << to_text(rule.external) << ", "
          << to_string(packet.internal) << ":" << packet.internal_port << " "
          << to_string(packet.external) << ":" << packet.external_port;
      hits += enforced;
      ++compared;
    }
  }
  EXPECT_GT(hits, compared / 20);
  EXPECT_LT(hits, compared / 2);
}

TEST(RuleMatch, NamesEachPartThatDiffers) {
  const auto internal = side("10.0.0.5:5004/2", Location::kInternal, kProtocolUdp);
  const auto external = side("192.0.2.7:6000/2", Location::kExternal, kProtocolUdp);
  const Packet good{kProtocolUdp, *parse_address("10.0.0.5"), 5005, *parse_address("192.0.2.7"),
                    6001};
  EXPECT_EQ(compare(internal, external, good)->faults(), 0);
  auto packet = good;
  packet.external_port = 6000;
  EXPECT_FALSE(compare(internal, external, packet)->pairing);
  EXPECT_EQ(compare(internal, external, packet)->faults(), 1);
  packet.external_port = 6002;
  EXPECT_FALSE(compare(internal, external, packet)->external_port);
  EXPECT_EQ(compare(internal, external, packet)->faults(), 1) << "a port beside it has no pair";
  packet = good;
  packet.protocol = kProtocolTcp;
  EXPECT_FALSE(compare(internal, external, packet)->protocol);
  packet.external = *parse_address("2001:db8::7");
  packet.internal = *parse_address("2001:db8::5");
  EXPECT_FALSE(compare(internal, external, packet));
}

}  // namespace
}  // namespace simco::packet
