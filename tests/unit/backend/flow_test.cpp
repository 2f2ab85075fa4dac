// Which flows belong to a rule, and which to the pools of a NAT.
#include "middlebox/backend/nftables/flows/flow.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "simco/wire/ip.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::backend::nftables {
namespace {

AddressTuple end_of(const std::string& text, Location location) {
  return parse_endpoint(text)->tuple(IpVersion::kIpv4, kProtocolUdp, location);
}

RuleChange enable(const std::string& internal, const std::string& outside,
                  const std::string& external) {
  RuleChange change;
  change.after.pid = PolicyRuleId{1};
  change.after.internal = end_of(internal, Location::kInternal);
  change.after.outside = end_of(outside, Location::kOutside);
  change.after.external = end_of(external, Location::kExternal);
  return change;
}

/// A flow whose packets go from `from` to `to`, and whose replies from `source` to `destination`.
Flow flow_of(const AddressTuple& from, const AddressTuple& to, const AddressTuple& source,
             const AddressTuple& destination) {
  Flow flow;
  flow.original = {IpVersion::kIpv4, kProtocolUdp, from.address, to.address, from.port, to.port};
  flow.reply_source = source.address;
  flow.reply_source_port = source.port;
  flow.reply_destination = destination.address;
  flow.reply_destination_port = destination.port;
  flow.source_translated = destination.address != from.address;
  flow.destination_translated = source.address != to.address;
  return flow;
}

/// A flow that `internal` began to `external`, translated to `outside`.
Flow begun_inside(const std::string& internal, const std::string& outside,
                  const std::string& external) {
  const auto peer = end_of(external, Location::kExternal);
  return flow_of(end_of(internal, Location::kInternal), peer, peer,
                 end_of(outside, Location::kOutside));
}

/// A flow that `external` began to `outside`, translated to `internal`.
Flow begun_outside(const std::string& internal, const std::string& outside,
                   const std::string& external) {
  const auto peer = end_of(external, Location::kExternal);
  return flow_of(peer, end_of(outside, Location::kOutside), end_of(internal, Location::kInternal),
                 peer);
}

TEST(Flow, EndsAreTheRealOnes) {
  for (const bool outside : {false, true}) {
    const auto flow = (outside ? begun_outside : begun_inside)("10.0.0.2:5004", "192.0.2.1:40000",
                                                               "198.51.100.7:6000");
    const auto translation = translation_of(flow, outside);
    EXPECT_EQ(translation.ends.internal, end_of("10.0.0.2", Location::kInternal).address);
    EXPECT_EQ(translation.ends.internal_port, 5004);
    EXPECT_EQ(translation.ends.external, end_of("198.51.100.7", Location::kExternal).address);
    EXPECT_EQ(translation.ends.external_port, 6000);
    EXPECT_EQ(translation.outside, end_of("192.0.2.1", Location::kOutside).address);
    EXPECT_EQ(translation.outside_port, 40000);
  }
}

TEST(Flow, BelongsToTheRuleWhoseBindingItUses) {
  const std::array rules = {enable("10.0.0.2:5004/2", "192.0.2.1:40000/2", "198.51.100.0/24"),
                            enable("10.0.0.3:5004", "192.0.2.1:40002", "any")};
  const BindingIndex bindings(rules);
  EXPECT_TRUE(bindings.has(begun_inside("10.0.0.2:5005", "192.0.2.1:40001", "198.51.100.7:1")));
  EXPECT_TRUE(bindings.has(begun_outside("10.0.0.2:5004", "192.0.2.1:40000", "198.51.100.7:1")));
  EXPECT_TRUE(bindings.has(begun_outside("10.0.0.3:5004", "192.0.2.1:40002", "203.0.113.9:1")));
  EXPECT_FALSE(bindings.has(begun_inside("10.0.0.2:5004", "192.0.2.1:39999", "198.51.100.7:1")))
      << "another port outside, below all bindings";
  EXPECT_FALSE(bindings.has(begun_inside("10.0.0.2:5004", "192.0.2.1:40002", "198.51.100.7:1")))
      << "the binding of another host";
  EXPECT_FALSE(bindings.has(begun_outside("10.0.0.2:5004", "192.0.2.1:40000", "203.0.113.9:1")))
      << "another peer";
  EXPECT_FALSE(bindings.has(begun_outside("10.0.0.2:5004", "192.0.2.9:40000", "198.51.100.7:1")))
      << "another address outside";
}

TEST(Flow, PoolsHaveTranslatedAndUntranslatedFlows) {
  Options options;
  options.outside_pool = {{*parse_address("192.0.2.1"), *parse_address("192.0.2.2")}};
  options.first_port = 30'000;
  const auto out = begun_inside("10.0.0.2:5004", "192.0.2.1:40000", "198.51.100.7:1");
  const auto in = begun_outside("10.0.0.2:5004", "192.0.2.2:40000", "198.51.100.7:1");
  EXPECT_TRUE(is_ours_translated(options, out));
  EXPECT_TRUE(is_ours_translated(options, in));
  EXPECT_FALSE(is_ours_untranslated(options, in));
  options.allow_outbound = true;
  EXPECT_FALSE(is_ours_translated(options, out)) << "it may be the site's own translation";
  EXPECT_TRUE(is_ours_translated(options, in));

  const auto elsewhere = begun_outside("10.0.0.2:5004", "192.0.2.3:40000", "198.51.100.7:1");
  EXPECT_FALSE(is_ours_translated(options, elsewhere));

  const auto untranslated = begun_outside("192.0.2.1:40000", "192.0.2.1:40000", "198.51.100.7:1");
  EXPECT_TRUE(is_ours_untranslated(options, untranslated));
  const auto below = begun_outside("192.0.2.1:22", "192.0.2.1:22", "198.51.100.7:1");
  EXPECT_FALSE(is_ours_untranslated(options, below)) << "no binding has that port";
}

}  // namespace
}  // namespace simco::backend::nftables
