#include "agent/simcoctl/explain.hpp"

#include <gtest/gtest.h>

#include "simco/wire/tuple_text.hpp"

namespace simco::ctl {
namespace {

using agent::RuleStatus;
using Verdict = Explanation::Verdict;

std::optional<AddressTuple> tuple(const std::string& text, Location location) {
  return parse_endpoint(text)->tuple(IpVersion::kIpv4, kProtocolUdp, location);
}

RuleStatus enabled(std::uint32_t pid, const std::string& internal, const std::string& external,
                   Direction direction = Direction::kBidirectional,
                   const std::string& outside = {}) {
  RuleStatus rule;
  rule.kind = RuleStatus::Kind::kEnabled;
  rule.pid = {pid};
  rule.owner = "proxy";
  rule.lifetime = {57};
  rule.parameters = {PortParity::kAny, direction};
  rule.internal = tuple(internal, Location::kInternal);
  rule.external = tuple(external, Location::kExternal);
  rule.inside = tuple(external, Location::kInside);
  rule.outside = tuple(outside.empty() ? internal : outside, Location::kOutside);
  return rule;
}

RuleStatus disabled(std::uint32_t pid, const std::string& internal, const std::string& external) {
  auto rule = enabled(pid, internal, external);
  rule.kind = RuleStatus::Kind::kDisabled;
  rule.owner = "guard";
  rule.inside = rule.outside = std::nullopt;
  return rule;
}

Explain udp(const std::string& internal, std::uint16_t internal_port, std::uint16_t external_port,
            bool inbound = true) {
  return {{kProtocolUdp, *parse_address(internal), internal_port, *parse_address("192.0.2.7"),
           external_port},
          inbound};
}

TEST(Explain, NamesTheRuleThatLetsAPacketPass) {
  const auto result =
      explain(udp("10.0.0.5", 5005, 6001), {enabled(3, "10.0.0.9:5004", "192.0.2.7:6000"),
                                            enabled(7, "10.0.0.5:5004/2", "192.0.2.7:6000/2")});
  EXPECT_EQ(result.verdict, Verdict::kPasses);
  EXPECT_EQ(result.rule, PolicyRuleId{7});
  EXPECT_EQ(result.reason, "rule 7 of proxy lets it pass for another 57 s");
  EXPECT_TRUE(result.not_known.empty());
}

// The commonest mistake: an odd port to an even one.
TEST(Explain, NamesThePairOfAPort) {
  const auto result =
      explain(udp("10.0.0.5", 5005, 6000), {enabled(7, "10.0.0.5:5004/2", "192.0.2.7:6000/2")});
  EXPECT_EQ(result.verdict, Verdict::kDropped);
  EXPECT_EQ(result.reason,
            "no rule lets udp pass from 192.0.2.7:6000 to 10.0.0.5:5005; this agent may see 1");
  ASSERT_EQ(result.near_misses.size(), 1U);
  EXPECT_EQ(result.near_misses[0],
            "rule 7 of proxy pairs internal port 5005 with external 6001, not 6000");
  ASSERT_FALSE(result.not_known.empty());
  EXPECT_EQ(result.not_known[0], "rules of agents that are not listed in 'see'");
}

TEST(Explain, NamesTheOnePointInWhichARuleDiffers) {
  const auto near = [](const Explain& wanted, const RuleStatus& rule) {
    const auto result = explain(wanted, {rule});
    EXPECT_EQ(result.verdict, Verdict::kDropped);
    return result.near_misses.empty() ? "" : result.near_misses[0];
  };
  const auto packet = udp("10.0.0.5", 5004, 6000);
  EXPECT_EQ(near(packet, enabled(1, "10.0.0.5:5004", "192.0.2.9:6000")),
            "rule 1 of proxy is for external 192.0.2.9");
  EXPECT_EQ(near(packet, enabled(1, "10.0.0.6:5004", "192.0.2.7:6000")),
            "rule 1 of proxy is for internal 10.0.0.6");
  EXPECT_EQ(near(packet, enabled(1, "10.0.0.5:5004", "192.0.2.7:6002")),
            "rule 1 of proxy is for external port 6002");
  EXPECT_EQ(near(packet, enabled(1, "10.0.0.5:5006/4", "192.0.2.7", Direction::kInbound)),
            "rule 1 of proxy is for internal port 5006 to 5009");
  EXPECT_EQ(near(packet, enabled(1, "10.0.0.5:5004", "192.0.2.7:6000", Direction::kOutbound)),
            "rule 1 of proxy lets packets out only");
  EXPECT_EQ(near(packet, enabled(1, "10.0.0.6:5004", "192.0.2.9:6000")), "") << "two points";
  auto out = packet;
  out.inbound = false;
  EXPECT_EQ(near(out, enabled(1, "10.0.0.5:5004", "any", Direction::kInbound)),
            "rule 1 of proxy lets packets in only");
}

TEST(Explain, ADisableRuleDecidesFirst) {
  const auto result =
      explain(udp("10.0.0.5", 5004, 6000),
              {enabled(7, "10.0.0.5:5004", "192.0.2.7:6000"), disabled(9, "any", "192.0.2.0/24")});
  EXPECT_EQ(result.verdict, Verdict::kBlocked);
  EXPECT_EQ(result.rule, PolicyRuleId{9});
  EXPECT_EQ(result.reason, "disable rule 9 of guard blocks it for another 57 s");
}

TEST(Explain, FollowsTheBindingOfANat) {
  const std::vector<RuleStatus> rules{enabled(7, "10.0.0.5:5004/2", "192.0.2.7:6000/2",
                                              Direction::kBidirectional, "198.51.100.1:1024/2")};
  const auto addressed = explain(udp("198.51.100.1", 1025, 6001), rules);
  EXPECT_EQ(addressed.verdict, Verdict::kPasses);
  EXPECT_EQ(addressed.reason,
            "rule 7 of proxy lets it pass for another 57 s; 198.51.100.1:1024/2 stands for "
            "10.0.0.5:5004/2");
  const auto real = explain(udp("10.0.0.5", 5005, 6001), rules);
  EXPECT_EQ(real.reason,
            "rule 7 of proxy lets it pass for another 57 s; it must be sent to the outside address "
            "198.51.100.1:1024/2");
  EXPECT_EQ(explain(udp("10.0.0.5", 5005, 6001, false), rules).reason,
            "rule 7 of proxy lets it pass for another 57 s; it leaves with the source "
            "198.51.100.1:1024/2");
  // A disable rule is about the real endpoints.
  auto blocked = rules;
  blocked.push_back(disabled(9, "10.0.0.5", "any"));
  EXPECT_EQ(explain(udp("198.51.100.1", 1025, 6001), blocked).verdict, Verdict::kBlocked);
}

TEST(Explain, SaysWhatItCannotKnow) {
  const auto open = explain(udp("10.0.0.5", 5004, 6000),
                            {enabled(1, "10.0.0.5:5004", "any", Direction::kInbound)});
  EXPECT_EQ(open.verdict, Verdict::kPasses);
  ASSERT_EQ(open.not_known.size(), 1U);
  EXPECT_EQ(open.not_known[0],
            "whether the route to 192.0.2.7 uses the external interface, as it must");
  auto tcp = udp("10.0.0.5", 5004, 6000);
  tcp.packet.protocol = kProtocolTcp;
  const auto unknown = explain(tcp, {}).not_known;
  ASSERT_EQ(unknown.size(), 4U);
  EXPECT_TRUE(unknown[2].contains("the middlebox's own"));
}

}  // namespace
}  // namespace simco::ctl
