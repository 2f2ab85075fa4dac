// Reservations: PRR, and PEA on its reservation.
#include <gtest/gtest.h>

#include "tests/unit/policy/requests.hpp"

namespace simco::policy {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using rule::ChangeResult;
using test::pinhole;
using test::PipelineFixture;
using test::refusal;

TEST(Reserve, OnAFirewallNothingIsHeldAndTheReplyHasProtocolsOnly) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  auto request = reservation();
  request.parameters.outside_version = RequestedIpVersion::kIpv6;
  const auto prr = std::get<PrrReply>(box.ask(agent, request));
  auto wanted = test::protocols_only(Location::kOutside, kProtocolUdp);
  wanted.ip_version = IpVersion::kIpv6;
  EXPECT_EQ(prr.outside, wanted);
  EXPECT_FALSE(prr.inside);
  // PEA has to keep to the request of the PRR.
  EXPECT_EQ(refusal(box.ask(agent, after(prr.pid))), kIpVersionMismatch);
  EXPECT_TRUE(is<PrsReply>(box.ask(agent, PrsRequest{prr.pid})));
}

/// A PEA on `pid` for IPv6 and `protocol`.
PeaRequest ipv6_pea(PolicyRuleId pid, std::uint8_t protocol) {
  auto pea = after(pid);
  pea.internal = test::ipv6(Location::kInternal, 5, 5004);
  pea.external = test::ipv6(Location::kExternal, 7, 6000);
  pea.internal.protocol = pea.external.protocol = protocol;
  return pea;
}

// 8.2.2: nothing is reserved, so that PEA may choose values that PRR left open.
TEST(Reserve, OnAFirewallWhatWasLeftOpenStaysOpen) {
  for (const bool fails : {false, true}) {
    PipelineFixture box;
    auto& agent = box.agent("a");
    auto request = reservation();
    request.parameters.protocol = kProtocolAny;
    const auto prr = std::get<PrrReply>(box.ask(agent, request));
    EXPECT_EQ(prr.outside, test::protocols_only(Location::kOutside, kProtocolAny));
    const auto before = box.ask(agent, PrsRequest{prr.pid});
    const auto pea = ipv6_pea(prr.pid, kProtocolTcp);
    if (fails) {
      // And is open again after a PEA that the backend has refused.
      box.backend.automatic = false;
      box.submit(agent, pea);
      box.commit.dispatch();
      EXPECT_EQ(box.backend.batches.back().at(0).before.internal,
                test::protocols_only(Location::kInternal, 0));
      box.backend.finish({ChangeResult::kRefused});
      box.backend.automatic = true;
      EXPECT_EQ(box.ask(agent, PrsRequest{prr.pid}), before);
    }
    EXPECT_TRUE(is<PerReply>(box.ask(agent, fails ? after(prr.pid) : pea)));
  }
}

TEST(Reserve, OnANatPeaGetsWhatIsHeldOnly) {
  auto options = nat();
  options.nat.outside.push_back({*parse_address("2001:db8::1"), 1});
  PipelineFixture box(options);
  auto& agent = box.agent("a");
  const auto udp = std::get<PrrReply>(box.ask(agent, reservation())).pid;
  EXPECT_EQ(refusal(box.ask(agent, ipv6_pea(udp, kProtocolUdp))), kIpVersionMismatch);
  auto request = reservation();
  request.parameters.protocol = kProtocolAny;
  const auto any = std::get<PrrReply>(box.ask(agent, request)).pid;
  EXPECT_EQ(refusal(box.ask(agent, after(any))), kProtocolMismatch);
}

TEST(Reserve, AFailedPeaLeavesTheReservationAsItWas) {
  for (const auto mode : {Mode::kFirewall, Mode::kTraditionalNat, Mode::kTwiceNat}) {
    PipelineFixture box(mode == Mode::kFirewall ? PipelineFixture::Options{} : nat(mode));
    auto& agent = box.agent("a");
    auto request = reservation();
    if (mode == Mode::kTwiceNat) request.parameters.nat_mode = NatMode::kTwice;
    const auto prr = std::get<PrrReply>(box.ask(agent, request));
    const auto before = box.ask(agent, PrsRequest{prr.pid});
    box.backend.automatic = false;
    const auto tid = box.submit(agent, after(prr.pid));
    box.commit.dispatch();
    // A request while it is under way gets its outcome.
    const auto status = box.submit(agent, PrsRequest{prr.pid});
    EXPECT_FALSE(agent.replies.contains(status));
    box.backend.finish({ChangeResult::kRefused});
    EXPECT_EQ(refusal(agent.replies[tid]), kConfigurationFailed);
    EXPECT_EQ(agent.replies.at(status), before);
    EXPECT_EQ(box.ask(agent, PrsRequest{prr.pid}), before);
    box.backend.automatic = true;
    EXPECT_TRUE(is<PerReply>(box.ask(agent, after(prr.pid))));
  }
}

TEST(Reserve, BlocksAddressesAndPortsUntilItsLifetimeIsOver) {
  auto options = nat();
  options.nat.outside[0].count = 1;
  options.nat.last_port = 5003;
  PipelineFixture box(options);
  auto& agent = box.agent("a");
  const auto one = std::get<PrrReply>(box.ask(agent, reservation()));
  const auto two = std::get<PrrReply>(box.ask(agent, reservation()));
  EXPECT_NE(one.outside.port, two.outside.port);
  EXPECT_EQ(refusal(box.ask(agent, pinhole())), kLackOfPorts);
  EXPECT_EQ(refusal(box.ask(agent, reservation())), kLackOfPorts);
  box.advance(60s);
  EXPECT_TRUE(is<PerReply>(box.ask(agent, pinhole())));
}

TEST(Reserve, WhatThePoolCannotGive) {
  PipelineFixture box(nat());
  auto& agent = box.agent("a");
  const auto ask = [&](auto change) {
    auto request = reservation();
    change(request.parameters);
    return refusal(box.ask(agent, request));
  };
  EXPECT_EQ(ask([](auto& p) { p.nat_mode = NatMode::kTwice; }), kNatModeNotSupported);
  EXPECT_EQ(ask([](auto& p) { p.outside_version = RequestedIpVersion::kIpv6; }),
            kIpVersionMismatch);
  EXPECT_EQ(ask([](auto& p) {
              p.inside_version = RequestedIpVersion::kIpv6;
              p.outside_version = RequestedIpVersion::kIpv4;
            }),
            kIpVersionMismatch);
  EXPECT_EQ(ask([](auto& p) { p.protocol = 1; }), kProtocolNotSupported);
  EXPECT_EQ(ask([](auto& p) { p.port_range = 0; }), kIllegalPortRange);
  EXPECT_EQ(ask([](auto& p) { p.port_range = 101; }), kLackOfPorts);
  EXPECT_EQ(ask([](auto& p) { p.protocol = 0; }), std::nullopt);
  EXPECT_EQ(ask([](auto& p) { p.port_range = 0xFFFF; }), std::nullopt);
  EXPECT_EQ(ask([](auto& p) { p.protocol = 0; }), kLackOfAddresses);
  EXPECT_EQ(ask([](auto& p) { p.port_range = 1; }), kLackOfPorts);
}

// 8.2.1 comes before 8.2.3, and there the group before the parameter set.
TEST(Reserve, TheOrderOfItsChecks) {
  auto policy = named("a");
  policy.protocols.emplace().set(kProtocolUdp).set(1);
  policy.rules_max = 1;
  auto options = nat();
  options.directory = {};
  options.directory.add(policy);
  PipelineFixture box(options);
  auto& agent = box.agent("a");
  box.ask(agent, pinhole());
  auto request = reservation(101);
  request.group = GroupId{99};
  request.parameters.protocol = kProtocolTcp;
  request.parameters.nat_mode = NatMode::kTwice;
  request.parameters.outside_version = RequestedIpVersion::kIpv6;
  request.lifetime = {0};
  const auto refused = [&] { return refusal(box.ask(agent, request)); };
  EXPECT_EQ(refused(), kNoSuchGroup);
  request.group.reset();
  EXPECT_EQ(refused(), kAgentNotAuthorized);
  request.parameters.protocol = 1;
  EXPECT_EQ(refused(), kIpVersionMismatch);
  request.parameters.outside_version = RequestedIpVersion::kAny;
  EXPECT_EQ(refused(), kProtocolNotSupported);
  request.parameters.protocol = kProtocolUdp;
  EXPECT_EQ(refused(), kConfigurationFailed);
  request.lifetime = {60};
  EXPECT_EQ(refused(), kNatModeNotSupported);
  request.parameters.nat_mode = NatMode::kTraditional;
  EXPECT_EQ(refused(), kNoResources);
}

TEST(Reserve, IpVersionsComeBeforeWildcards) {
  AgentPolicy policy = named("a");
  policy.protocol_wildcards = false;
  PipelineFixture box(with(policy));
  auto request = reservation();
  request.parameters.protocol = kProtocolAny;
  EXPECT_EQ(refusal(box.ask(box.agent("a"), request)), kWildcardingNotSupported);
  request.parameters.inside_version = RequestedIpVersion::kIpv4;
  request.parameters.outside_version = RequestedIpVersion::kIpv6;
  EXPECT_EQ(refusal(box.ask(box.agent("a"), request)), kIpVersionMismatch);
}

TEST(Reserve, IsRefusedWhereEverythingIsDisabled) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  auto everything = block();
  everything.external = test::protocols_only(Location::kExternal, kProtocolUdp);
  const auto pdr = std::get<PdrReply>(box.ask(agent, everything));
  EXPECT_EQ(refusal(box.ask(agent, reservation())), kAddressSpaceNotAvailable);
  auto tcp = reservation();
  tcp.parameters.protocol = kProtocolTcp;
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, tcp)));
  auto ipv6 = reservation();
  ipv6.parameters.outside_version = RequestedIpVersion::kIpv6;
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, ipv6)));
  box.ask(agent, PlcRequest{pdr.pid, {0}});
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation())));
}

// 8.2.2, 8.2.3.
TEST(Reserve, JoinsAGroup) {
  for (const auto& options : {PipelineFixture::Options{}, nat()}) {
    PipelineFixture box(options);
    auto& agent = box.agent("a");
    const auto group = std::get<PerReply>(box.ask(agent, pinhole())).group;
    auto request = reservation();
    request.group = group;
    const auto prr = std::get<PrrReply>(box.ask(agent, request));
    EXPECT_EQ(prr.group, group);
    EXPECT_EQ(std::get<PrsReply>(box.ask(agent, PrsRequest{prr.pid})).group, group);
    EXPECT_EQ(std::get<PerReply>(box.ask(agent, after(prr.pid, 6004))).group, group);
    EXPECT_EQ(refusal(box.ask(box.agent("b"), request)), kGroupAccessDenied);
  }
}

// 8.4.1: the checks of 8.3.1.
TEST(Reserve, PeaIsCheckedAsAPerIs) {
  AgentPolicy policy = named("a");
  policy.internal_wildcards = policy.external_wildcards = policy.port_wildcards = false;
  PipelineFixture box(with(policy));
  auto& agent = box.agent("a");
  const auto pid = std::get<PrrReply>(box.ask(agent, reservation())).pid;
  const auto refused = [&](auto change) {
    auto pea = after(pid);
    pea.parameters.direction = Direction::kInbound;  // both ways, nothing may be wildcarded
    change(pea);
    return refusal(box.ask(agent, pea));
  };
  EXPECT_EQ(refused([](auto& pea) { pea.internal.location = Location::kExternal; }),
            kInconsistentRequest);
  EXPECT_EQ(refused([](auto& pea) { pea.external.location = Location::kOutside; }),
            kInconsistentRequest);
  EXPECT_EQ(refused([](auto& pea) { pea.external.protocol = kProtocolTcp; }), kInconsistentRequest);
  EXPECT_EQ(refused([](auto& pea) { pea.external.port_range = 3; }), kInconsistentRequest);
  EXPECT_EQ(refused([](auto& pea) { pea.internal.prefix_length = 24; }), kWildcardingNotSupported);
  EXPECT_EQ(refused([](auto& pea) { pea.external.prefix_length = 24; }), kWildcardingNotSupported);
  EXPECT_EQ(refused([](auto& pea) { pea.external.port = 0; }), kWildcardingNotSupported);
  EXPECT_EQ(refused([](auto& pea) { pea.lifetime = {0}; }), kConfigurationFailed);
  EXPECT_TRUE(is<PerReply>(box.ask(agent, after(pid))));
}

TEST(Reserve, PeaMustFitWhatIsHeld) {
  PipelineFixture box(nat());
  auto& agent = box.agent("a");
  const auto prr = std::get<PrrReply>(box.ask(agent, reservation()));
  auto pea = after(prr.pid);
  pea.internal.protocol = pea.external.protocol = kProtocolTcp;
  EXPECT_EQ(refusal(box.ask(agent, pea)), kProtocolMismatch);
  pea = after(prr.pid);
  pea.internal.port_range = pea.external.port_range = 1;
  EXPECT_EQ(refusal(box.ask(agent, pea)), kInconsistentRequest);
  pea = after(prr.pid, 5005);
  pea.parameters.parity = PortParity::kSame;
  EXPECT_EQ(refusal(box.ask(agent, pea)), kParityMismatch);
  pea.internal.port = 5006;
  const auto per = std::get<PerReply>(box.ask(agent, pea));
  EXPECT_EQ(per.pid, prr.pid);
  EXPECT_EQ(per.group, prr.group);
  EXPECT_EQ(per.outside, prr.outside);
  EXPECT_EQ(refusal(box.ask(agent, pea)), kInconsistentRequest);  // it is enabled now
}

}  // namespace
}  // namespace simco::policy
