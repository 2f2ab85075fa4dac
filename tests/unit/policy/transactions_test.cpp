// Reservation, NAT, disabling and authorisation, one scenario at a time; long random runs stand in
// model_test.cpp.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/middlebox_core.hpp"

namespace simco::policy {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using backend::ChangeResult;
using backend::RuleChange;
using test::MiddleboxCore;
using test::pinhole;
using test::refusal;

MiddleboxCore::Options nat(Mode mode = Mode::kNat) {
  MiddleboxCore::Options options;
  options.nat.mode = mode;
  options.nat.outside = {{*parse_address("198.51.100.1"), 2}};
  if (mode == Mode::kTwiceNat) options.nat.inside = {{*parse_address("172.16.0.1"), 2}};
  options.nat.first_port = 5000;
  options.nat.last_port = 5099;
  return options;
}

PrrRequest reservation(std::uint16_t ports = 2, ReservedParity parity = ReservedParity::kEven) {
  PrrRequest request;
  request.parameters.parity = parity;
  request.parameters.protocol = kProtocolUdp;
  request.parameters.port_range = ports;
  request.lifetime = {60};
  return request;
}

PeaRequest after(PolicyRuleId pid, std::uint16_t port = 5004) {
  const auto per = pinhole(port);
  return {per.parameters, per.internal, per.external, per.lifetime, pid};
}

PdrRequest block(std::uint8_t protocol = kProtocolUdp) {
  return {test::protocols_only(Location::kInternal, protocol),
          test::ipv4(Location::kExternal, {192, 0, 2, 7}, 0, 1, protocol),
          {60}};
}

template <class T>
bool is(const Body& body) {
  return std::holds_alternative<T>(body);
}

MiddleboxCore::Options with(AgentPolicy policy) {
  MiddleboxCore::Options options;
  options.directory = {};
  options.directory.add(std::move(policy));
  return options;
}

AgentPolicy named(const char* name) {
  AgentPolicy policy;
  policy.name = name;
  return policy;
}

// --- Figure 42: each state with each request ---------------------------------------------------

enum class State { kUnused, kReserved, kEnabled, kDisableRule };

/// A middlebox whose agent has a rule in `state`, and another one for company.
struct InState {
  MiddleboxCore box;
  MiddleboxCore::Agent& agent = box.agent("a");
  PolicyRuleId pid{77};

  explicit InState(State state) {
    if (state == State::kReserved) pid = std::get<PrrReply>(box.ask(agent, reservation())).pid;
    if (state == State::kEnabled) pid = std::get<PerReply>(box.ask(agent, pinhole(7000))).pid;
    if (state == State::kDisableRule) {
      pid = std::get<PdrReply>(box.ask(agent, block(kProtocolTcp))).pid;
    }
  }
  State state() {
    const auto status = box.ask(agent, PrsRequest{pid});
    if (is<PrsReply>(status)) return State::kReserved;
    if (is<PesReply>(status)) return State::kEnabled;
    if (is<PdsReply>(status)) return State::kDisableRule;
    EXPECT_EQ(refusal(status), kNoSuchRule);
    return State::kUnused;
  }
};

TEST(Figure42, EachStateWithEachRequest) {
  constexpr State kStates[] = {State::kUnused, State::kReserved, State::kEnabled,
                               State::kDisableRule};
  for (const auto state : kStates) {
    const bool used = state != State::kUnused;
    struct Case {
      const char* name;
      std::function<Body(PolicyRuleId)> request;
      std::string reply;
      State then;
    };
    const auto negative = [](NegativeReplyCode code) { return std::string(to_string(code)); };
    const std::string missing = negative(kNoSuchRule);
    const std::string status = state == State::kReserved  ? "PRS reply"
                               : state == State::kEnabled ? "PES reply"
                                                          : "PDS reply";
    const std::string pea = state == State::kReserved ? "PER reply"
                            : used                    ? negative(kInconsistentRequest)
                                                      : missing;
    const Case cases[] = {
        {"PRR", [](PolicyRuleId) { return reservation(); }, "PRR reply", state},
        {"PER", [](PolicyRuleId) { return pinhole(); }, "PER reply", state},
        {"PEA", [](PolicyRuleId pid) { return after(pid); }, pea,
         state == State::kReserved ? State::kEnabled : state},
        {"PDR", [](PolicyRuleId) { return block(); }, "PDR reply",
         state == State::kEnabled ? State::kUnused : state},
        {"PLC > 0", [](PolicyRuleId pid) { return PlcRequest{pid, {9}}; },
         used ? "PLC reply" : missing, state},
        {"PLC 0", [](PolicyRuleId pid) { return PlcRequest{pid, {0}}; },
         used ? "PRD reply" : missing, State::kUnused},
        {"PRS", [](PolicyRuleId pid) { return PrsRequest{pid}; }, used ? status : missing, state},
        {"PRL", [](PolicyRuleId) { return PrlRequest{}; }, "PRL reply", state},
    };
    for (const auto& [name, request, reply, then] : cases) {
      SCOPED_TRACE(std::string(name) + " in state " + std::to_string(static_cast<int>(state)));
      InState here(state);
      const auto got = here.box.ask(here.agent, request(here.pid));
      const auto refused = refusal(got);
      EXPECT_EQ(refused ? negative(*refused) : name_of(type_of(got)), reply);
      EXPECT_EQ(here.state(), then);
    }
    // And each ends with its lifetime: ARE(lt=0).
    InState here(state);
    here.box.advance(61s);
    EXPECT_EQ(here.state(), State::kUnused);
  }
}

// --- Reservation -------------------------------------------------------------------------------

TEST(Reserve, OnAFirewallNothingIsHeldAndTheReplyHasProtocolsOnly) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  auto request = reservation();
  request.parameters.outside_version = RequestedIpVersion::kIpv6;
  const auto prr = std::get<PrrReply>(box.ask(agent, request));
  auto wanted = test::protocols_only(Location::kOutside, kProtocolUdp);
  wanted.ip_version = IpVersion::kIpv6;
  EXPECT_EQ(prr.outside, wanted);
  EXPECT_FALSE(prr.inside);
  // PEA has to keep to what was asked for.
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

// 8.2.2: nothing is reserved, so that PEA may choose what PRR left open.
TEST(Reserve, OnAFirewallWhatWasLeftOpenStaysOpen) {
  for (const bool fails : {false, true}) {
    MiddleboxCore box;
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
      EXPECT_EQ(box.engine.record(prr.pid)->internal, test::protocols_only(Location::kInternal, 0));
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
  MiddleboxCore box(options);
  auto& agent = box.agent("a");
  const auto udp = std::get<PrrReply>(box.ask(agent, reservation())).pid;
  EXPECT_EQ(refusal(box.ask(agent, ipv6_pea(udp, kProtocolUdp))), kIpVersionMismatch);
  auto request = reservation();
  request.parameters.protocol = kProtocolAny;
  const auto any = std::get<PrrReply>(box.ask(agent, request)).pid;
  EXPECT_EQ(refusal(box.ask(agent, after(any))), kProtocolMismatch);
}

TEST(Reserve, AFailedPeaLeavesTheReservationAsItWas) {
  for (const auto mode : {Mode::kFirewall, Mode::kNat, Mode::kTwiceNat}) {
    MiddleboxCore box(mode == Mode::kFirewall ? MiddleboxCore::Options{} : nat(mode));
    auto& agent = box.agent("a");
    auto request = reservation();
    if (mode == Mode::kTwiceNat) request.parameters.nat_mode = NatMode::kTwice;
    const auto prr = std::get<PrrReply>(box.ask(agent, request));
    const auto before = box.ask(agent, PrsRequest{prr.pid});
    box.backend.automatic = false;
    const auto tid = box.submit(agent, after(prr.pid));
    box.commit.dispatch();
    // Who asks while it is under way is told what became of it.
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
  MiddleboxCore box(options);
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
  MiddleboxCore box(nat());
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
  MiddleboxCore box(options);
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

TEST(Reserve, IsRefusedWhereEverythingIsDisabled) {
  MiddleboxCore box;
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

TEST(Reserve, PeaMustFitWhatIsHeld) {
  MiddleboxCore box(nat());
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

// --- NAT ---------------------------------------------------------------------------------------

TEST(Nat, TellsTheBackendWhatItHasGiven) {
  MiddleboxCore box(nat(Mode::kTwiceNat));
  auto& agent = box.agent("a");
  auto request = pinhole(5005);
  request.parameters.parity = PortParity::kSame;
  const auto per = std::get<PerReply>(box.ask(agent, request));
  const auto& change = box.backend.batches.back().at(0);
  EXPECT_EQ(change.outside, per.outside);
  EXPECT_EQ(change.inside, per.inside);
  EXPECT_EQ(per.outside.port % 2, 1);  // as internal 5005
  EXPECT_EQ(per.inside->port % 2, 0);  // as external 6000
  EXPECT_EQ(per.outside.port_range, 2);
  const auto pes = std::get<PesReply>(box.ask(agent, PrsRequest{per.pid}));
  EXPECT_EQ(pes.outside, per.outside);
  EXPECT_EQ(pes.inside, per.inside);
  EXPECT_EQ(pes.internal, request.internal);
}

TEST(Nat, ATraditionalOneReportsExternalAsInside) {
  MiddleboxCore box(nat());
  auto& agent = box.agent("a");
  const auto request = pinhole();
  const auto per = std::get<PerReply>(box.ask(agent, request));
  EXPECT_FALSE(per.inside);
  auto inside = request.external;
  inside.location = Location::kInside;
  EXPECT_EQ(std::get<PesReply>(box.ask(agent, PrsRequest{per.pid})).inside, inside);
}

TEST(Nat, ARefusedRuleGivesBackWhatItTook) {
  auto options = nat();
  options.nat.outside[0].count = 1;
  options.nat.last_port = 5001;
  MiddleboxCore box(options);
  auto& agent = box.agent("a");
  box.backend.automatic = false;
  const auto tid = box.submit(agent, pinhole());
  box.commit.dispatch();
  box.backend.finish({ChangeResult::kNoResources});
  EXPECT_EQ(refusal(agent.replies[tid]), kNoResources);
  box.backend.automatic = true;
  EXPECT_TRUE(is<PerReply>(box.ask(agent, pinhole())));
}

// The ports of the side that only sends need not be mapped one by one (RFC 5189, figure 13).
TEST(Nat, WildcardedPorts) {
  MiddleboxCore box(nat());
  auto& agent = box.agent("a");
  auto request = pinhole();
  request.internal.port = 0;
  request.parameters.direction = Direction::kOutbound;
  request.external.port_range = 1;
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, request)).outside.port_range, 1);
  request.parameters.direction = Direction::kInbound;
  request.internal.address[3] = std::byte{9};
  const auto all = std::get<PerReply>(box.ask(agent, request));
  EXPECT_EQ(all.outside.port, 5000);
  EXPECT_EQ(all.outside.port_range, 100);
}

TEST(Nat, Ipv6) {
  auto options = nat(Mode::kTwiceNat);
  options.nat.outside = {{*parse_address("2001:db8:1::1"), 2}};
  options.nat.inside = {{*parse_address("2001:db8:2::1"), 2}, {*parse_address("172.16.0.1"), 1}};
  MiddleboxCore box(options);
  auto& agent = box.agent("a");
  // Both sides have IPv6 only: IPv4 is neither taken nor chosen.
  EXPECT_EQ(box.engine.capabilities(agent.agent()).external_versions, 2);
  EXPECT_EQ(refusal(box.ask(agent, pinhole())), kIpVersionMismatch);
  auto request = reservation();
  request.parameters.nat_mode = NatMode::kTwice;
  const auto prr = std::get<PrrReply>(box.ask(agent, request));
  EXPECT_EQ(prr.outside.ip_version, IpVersion::kIpv6);
  EXPECT_EQ(prr.outside.prefix_length, 128);
  EXPECT_EQ(to_string(IpAddress{IpVersion::kIpv6, prr.outside.address}), "2001:db8:1::1");
  EXPECT_EQ(to_string(IpAddress{IpVersion::kIpv6, prr.inside->address}), "2001:db8:2::1");
  auto per = pinhole();
  per.internal = test::ipv6(Location::kInternal, 5, 5004);
  per.external = test::ipv6(Location::kExternal, 7, 6000);
  const auto opened = std::get<PerReply>(box.ask(agent, per));
  EXPECT_NE(opened.outside.address, prr.outside.address);  // addresses come in turn
  const PeaRequest pea{per.parameters, per.internal, per.external, per.lifetime, prr.pid};
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, pea)).outside, prr.outside);
  PdrRequest block{test::protocols_only(Location::kInternal, 0), per.external, {60}};
  block.internal.ip_version = IpVersion::kIpv6;
  block.external.protocol = 0;
  EXPECT_TRUE(is<PdrReply>(box.ask(agent, block)));
  EXPECT_EQ(refusal(box.ask(agent, PrsRequest{prr.pid})), kNoSuchRule);
}

TEST(Nat, OneHostHasOneOutsideAddress) {
  MiddleboxCore box(nat());
  auto& agent = box.agent("a");
  const auto outside = [&](int host, std::uint16_t port) {
    auto request = pinhole(port);
    request.internal.address[3] = static_cast<std::byte>(host);
    return std::get<PerReply>(box.ask(agent, request)).outside.address;
  };
  const auto first = outside(1, 5004);
  EXPECT_NE(outside(2, 5004), first);
  for (std::uint16_t port = 5006; port < 5030; port += 2) EXPECT_EQ(outside(1, port), first);
}

// RFC 5189 2.3.9: an internal endpoint is not bound to two places, by the rules of one owner.
TEST(Nat, RulesOfOneOwnerShareTheBindingOfAnEndpoint) {
  MiddleboxCore box(nat());
  auto& agent = box.agent("a");
  auto& other = box.agent("b");
  const auto open = [&](auto& who, int peer, std::uint16_t port = 5004) {
    auto request = pinhole(port);
    request.external.address[3] = static_cast<std::byte>(peer);
    return std::get<PerReply>(box.ask(who, request));
  };
  auto anybody = pinhole();
  anybody.parameters.direction = Direction::kInbound;
  anybody.external.prefix_length = 0;
  const auto early = std::get<PerReply>(box.ask(agent, anybody));
  const auto one = open(agent, 1);
  const auto two = open(agent, 2);
  EXPECT_EQ(one.outside, early.outside);
  EXPECT_EQ(two.outside, early.outside);
  EXPECT_NE(open(agent, 1, 5006).outside, one.outside);
  EXPECT_NE(open(other, 1).outside, one.outside);
  EXPECT_EQ(box.engine.nat_usage().pools[0].ports_in_use, 6U);
  // It lives as long as the last of them.
  for (const auto pid : {early.pid, one.pid}) box.ask(agent, PlcRequest{pid, {0}});
  EXPECT_EQ(std::get<PesReply>(box.ask(agent, PrsRequest{two.pid})).outside, early.outside);
  EXPECT_EQ(open(agent, 3).outside, early.outside);
  EXPECT_EQ(box.engine.nat_usage().pools[0].ports_in_use, 6U);
  // The parity is what it is.
  auto odd = pinhole(5004);
  odd.parameters.parity = PortParity::kSame;
  odd.internal.port_range = odd.external.port_range = 1;
  const auto even_port = std::get<PerReply>(box.ask(agent, odd));
  EXPECT_EQ(even_port.outside.port % 2, 0);
}

TEST(Nat, AnEndpointOfTheWrongParityIsNotBoundTwice) {
  MiddleboxCore box(nat());
  auto& agent = box.agent("a");
  auto single = pinhole(7001);
  single.internal.port_range = single.external.port_range = 1;
  auto same = single;
  same.parameters.parity = PortParity::kSame;
  const auto first = std::get<PerReply>(box.ask(agent, single));
  ASSERT_EQ(first.outside.port % 2, 0);
  EXPECT_EQ(refusal(box.ask(agent, same)), kParityMismatch);
  box.ask(agent, PlcRequest{first.pid, {0}});
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, same)).outside.port % 2, 1);
}

TEST(Nat, ATwiceNatSharesOnBothSides) {
  MiddleboxCore box(nat(Mode::kTwiceNat));
  auto& agent = box.agent("a");
  const auto one = std::get<PerReply>(box.ask(agent, pinhole()));
  const auto like = std::get<PerReply>(box.ask(agent, pinhole()));
  EXPECT_EQ(like.outside, one.outside);
  EXPECT_EQ(like.inside, one.inside);
  auto other_peer = pinhole();
  other_peer.external.address[3] = std::byte{9};
  const auto other = std::get<PerReply>(box.ask(agent, other_peer));
  EXPECT_EQ(other.outside, one.outside);
  EXPECT_NE(other.inside, one.inside);
}

// 8.4.3 lets PEA have what PRR has reserved, also for an endpoint that is bound already.
TEST(Nat, AnEnabledReservationIsSharedFromThenOn) {
  MiddleboxCore box(nat());
  auto& agent = box.agent("a");
  const auto held = std::get<PrrReply>(box.ask(agent, reservation()));
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, after(held.pid))).outside, held.outside);
  const auto shares = std::get<PerReply>(box.ask(agent, pinhole()));
  EXPECT_EQ(shares.outside, held.outside);
  const auto second = std::get<PrrReply>(box.ask(agent, reservation()));
  EXPECT_NE(second.outside, held.outside);
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, after(second.pid))).outside, second.outside);
  for (const auto pid : {held.pid, shares.pid}) box.ask(agent, PlcRequest{pid, {0}});
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, pinhole())).outside, second.outside);
}

// While that is with the backend it is not shared: it might be a reservation again.
TEST(Nat, AReservationThatIsBeingEnabledIsWaitedFor) {
  for (const bool fails : {false, true}) {
    MiddleboxCore box(nat());
    auto& agent = box.agent("a");
    const auto held = std::get<PrrReply>(box.ask(agent, reservation()));
    box.backend.automatic = false;
    box.submit(agent, after(held.pid));
    const auto per = box.submit(agent, pinhole());
    box.commit.dispatch();
    EXPECT_EQ(box.backend.batches.back().size(), 1U);
    box.backend.finish({fails ? ChangeResult::kRefused : ChangeResult::kDone});
    box.backend.finish();
    EXPECT_EQ(std::get<PerReply>(agent.replies.at(per)).outside == held.outside, !fails);
    box.backend.automatic = true;
    if (fails) {
      EXPECT_EQ(std::get<PerReply>(box.ask(agent, after(held.pid, 9))).outside, held.outside);
    }
  }
}

TEST(Nat, SharingOutlivesARestart) {
  std::vector<RuleRecord> kept;
  const auto options = nat(Mode::kTwiceNat);
  AddressTuple outside;
  {
    MiddleboxCore box(options);
    auto& agent = box.agent("a");
    for (int i = 0; i < 2; ++i) {
      const auto per = std::get<PerReply>(box.ask(agent, pinhole()));
      kept.push_back(*box.engine.record(per.pid));
      outside = per.outside;
    }
  }
  MiddleboxCore box(options);
  auto& agent = box.agent("a");
  for (const auto& record : kept) {
    PlannedChange change;
    Body reply;
    RuleEvent event;
    EXPECT_EQ(box.engine.restore(record, {60}, box.now() + 60s, change), std::nullopt);
    box.engine.commit(change, box.now(), reply, event);
  }
  EXPECT_EQ(box.engine.nat_usage().pools[0].ports_in_use, 2U);
  box.ask(agent, PlcRequest{kept[0].pid, {0}});
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, pinhole())).outside, outside);
  EXPECT_EQ(std::get<PesReply>(box.ask(agent, PrsRequest{kept[1].pid})).outside, outside);
}

TEST(Nat, CapabilitiesSayWhatItIs) {
  for (const auto mode : {Mode::kFirewall, Mode::kNat, Mode::kTwiceNat}) {
    MiddleboxCore box(mode == Mode::kFirewall ? MiddleboxCore::Options{} : nat(mode));
    auto& agent = box.agent("a");
    const auto told = box.engine.capabilities(agent.agent());
    EXPECT_TRUE(told.packet_filter && told.disable_rules);
    EXPECT_EQ(told.nat, mode != Mode::kFirewall);
    EXPECT_EQ(told.port_translation, mode != Mode::kFirewall);
    EXPECT_EQ(told.twice_nat, mode == Mode::kTwiceNat);
    EXPECT_EQ(told.internal_wildcards, mode == Mode::kFirewall);
    EXPECT_EQ(told.external_wildcards, mode != Mode::kTwiceNat);
    EXPECT_EQ(told.external_versions, mode == Mode::kFirewall ? 3 : 1);
  }
}

// --- Disabling ---------------------------------------------------------------------------------

TEST(Disable, EndsWhatItHitsAndHoldsOffWhatWouldBeHit) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  auto& guard = box.agent("guard");
  const auto hit = std::get<PerReply>(box.ask(agent, pinhole())).pid;
  auto elsewhere = pinhole(5010);
  elsewhere.external.address[3] = std::byte{8};
  const auto spared = std::get<PerReply>(box.ask(agent, elsewhere)).pid;
  const auto reserved = std::get<PrrReply>(box.ask(agent, reservation())).pid;
  agent.events.clear();
  guard.events.clear();
  const auto pdr = std::get<PdrReply>(box.ask(guard, block()));
  EXPECT_TRUE(guard.events.empty());  // it may not see the rule
  ASSERT_EQ(agent.events.size(), 1U);
  EXPECT_EQ(agent.events[0].pid, hit);
  EXPECT_EQ(agent.events[0].lifetime, Lifetime{0});
  EXPECT_EQ(refusal(box.ask(agent, PrsRequest{hit})), kNoSuchRule);
  EXPECT_TRUE(is<PesReply>(box.ask(agent, PrsRequest{spared})));
  EXPECT_EQ(refusal(box.ask(agent, pinhole())), kConflict);
  EXPECT_EQ(refusal(box.ask(agent, after(reserved))), kConflict);
  box.ask(guard, PlcRequest{pdr.pid, {0}});
  EXPECT_TRUE(is<PerReply>(box.ask(agent, after(reserved))));
}

TEST(Disable, AgainstNatRulesByTheirInternalAndExternalTuples) {
  MiddleboxCore box(nat(Mode::kTwiceNat));
  auto& agent = box.agent("a");
  const auto per = std::get<PerReply>(box.ask(agent, pinhole()));
  // What the NAT has given stands for nobody: it can be blocked without harm to the rule.
  auto request = block();
  request.external = per.outside;
  request.external.location = Location::kExternal;
  EXPECT_TRUE(is<PdrReply>(box.ask(agent, request)));
  EXPECT_TRUE(is<PesReply>(box.ask(agent, PrsRequest{per.pid})));
  EXPECT_TRUE(is<PdrReply>(box.ask(agent, block())));  // wildcards, although a NAT grants none
  EXPECT_EQ(refusal(box.ask(agent, PrsRequest{per.pid})), kNoSuchRule);
  // Its ports are free again.
  box.advance(61s);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(is<PerReply>(box.ask(agent, pinhole())));
}

TEST(Disable, ARefusedOneChangesNothing) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  const auto pid = std::get<PerReply>(box.ask(agent, pinhole())).pid;
  box.backend.automatic = false;
  const auto tid = box.submit(agent, block());
  // From the moment it is planned, nothing gets past it; whether that is a conflict it decides.
  const auto late = box.submit(agent, pinhole(5008));
  auto& other = box.agent("b");
  const auto others = box.submit(other, pinhole(5010));
  box.commit.dispatch();
  EXPECT_FALSE(agent.replies.contains(late) || other.replies.contains(others));
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_EQ(refusal(agent.replies[tid]), kConfigurationFailed);
  box.backend.finish();
  EXPECT_TRUE(is<PerReply>(agent.replies.at(late)));
  EXPECT_TRUE(is<PerReply>(other.replies.at(others)));
  box.backend.automatic = true;
  EXPECT_TRUE(is<PesReply>(box.ask(agent, PrsRequest{pid})));
}

TEST(Disable, IsAnsweredWhenTheRulesAreGone) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  box.ask(agent, pinhole(5004));
  box.ask(agent, pinhole(5006));
  box.backend.automatic = false;
  const auto tid = box.submit(agent, block());
  box.commit.dispatch();
  ASSERT_EQ(box.backend.batches.back().size(), 1U);
  EXPECT_EQ(box.backend.batches.back()[0].rule, RuleKind::kDisable);
  box.backend.finish();
  EXPECT_FALSE(agent.replies.contains(tid));
  ASSERT_EQ(box.backend.batches.back().size(), 2U);
  EXPECT_EQ(box.backend.batches.back()[0].kind, RuleChange::Kind::kRemove);
  EXPECT_EQ(box.backend.batches.back()[0].rule, RuleKind::kEnable);
  box.backend.finish();
  EXPECT_TRUE(is<PdrReply>(agent.replies.at(tid)));
  EXPECT_TRUE(box.commit.idle());
}

// 5.3.19 and 8.9 except requesters of PRR, PER, PEA and PLC, and 8.8.2 excepts nobody: the reply
// names none of the rules that are gone.
TEST(Disable, WhoAsksHearsWhichRulesEnded) {
  MiddleboxCore::Options options;
  options.directory = {};
  auto seeing = named("guard");
  seeing.may_see = {"*"};
  options.directory.add(seeing);
  options.directory.add(named("a"));
  MiddleboxCore box(options);
  auto& agent = box.agent("a");
  auto& guard = box.agent("guard");
  const auto first = std::get<PerReply>(box.ask(agent, pinhole(5004))).pid;
  const auto own = std::get<PerReply>(box.ask(guard, pinhole(5006))).pid;
  guard.events.clear();
  box.backend.automatic = false;
  const auto tid = box.submit(guard, block());
  box.commit.dispatch();
  box.backend.finish();
  EXPECT_TRUE(guard.events.empty());
  box.backend.finish();
  ASSERT_EQ(guard.events.size(), 2U);
  EXPECT_EQ(guard.events[0].pid, first);
  EXPECT_EQ(guard.events[1].pid, own);
  for (const auto& event : guard.events) EXPECT_EQ(event.lifetime, Lifetime{0});
  EXPECT_TRUE(is<PdrReply>(guard.replies.at(tid)));
}

// The disable rule is in force: that an enable rule cannot be taken away does not undo it.
TEST(Disable, ARuleThatCannotBeRemovedIsTriedAgain) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  const auto pid = std::get<PerReply>(box.ask(agent, pinhole())).pid;
  box.backend.automatic = false;
  const auto tid = box.submit(agent, block());
  box.commit.dispatch();
  box.backend.finish();
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_TRUE(is<PdrReply>(agent.replies.at(tid)));
  EXPECT_EQ(box.expiry_failures, std::vector<PolicyRuleId>{pid});
  box.backend.automatic = true;
  box.advance(2s);
  EXPECT_EQ(refusal(box.ask(agent, PrsRequest{pid})), kNoSuchRule);
  EXPECT_EQ(box.engine.rule_count(), 1U);
}

/// Changes that are with the backend, or wait for it, when the disable rule comes.
TEST(Disable, MeetsChangesUnderWay) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  auto& later = box.agent("a");
  auto& guard = box.agent("a");
  const auto first = std::get<PerReply>(box.ask(agent, pinhole(5004))).pid;
  const auto second = std::get<PerReply>(box.ask(agent, pinhole(5006))).pid;
  box.backend.automatic = false;
  const auto per = box.submit(agent, pinhole(5008));
  const auto longer = box.submit(agent, PlcRequest{first, {500}});
  const auto longest = box.submit(agent, PlcRequest{first, {900}});  // waits for `longer`
  box.commit.dispatch();
  const auto pdr = box.submit(guard, block());
  const auto removal = box.submit(later, PlcRequest{second, {0}});  // waits for the PDR
  box.backend.finish();  // per, longer; then the PDR and `longest` go
  EXPECT_TRUE(is<PerReply>(agent.replies.at(per)));
  EXPECT_TRUE(is<PlcReply>(agent.replies.at(longer)));
  while (box.backend.busy()) box.backend.finish();
  EXPECT_TRUE(is<PlcReply>(agent.replies.at(longest)));
  EXPECT_EQ(refusal(later.replies.at(removal)), kNoSuchRule);
  EXPECT_FALSE(guard.replies.contains(pdr));  // `first` is still there
  box.backend.automatic = true;
  box.advance(0ms);  // the rule that `longest` had under way is due at once
  EXPECT_TRUE(is<PdrReply>(guard.replies.at(pdr)));
  EXPECT_EQ(box.engine.rule_count(), 1U);
  EXPECT_TRUE(box.commit.idle());
}

TEST(Disable, ManyRulesEndInBoundedSteps) {
  MiddleboxCore box(5000);
  auto& agent = box.agent("a");
  for (std::uint16_t port = 1; port <= 4000; ++port) box.ask(agent, pinhole(port));
  box.backend.automatic = false;
  const auto tid = box.submit(agent, block());
  box.commit.dispatch();
  std::size_t largest = 0;
  while (box.backend.busy()) {
    box.backend.finish();
    largest = std::max(largest, box.backend.batches.back().size());
    if (!box.backend.busy() && box.engine.next_expiry()) {
      box.commit.expire();
      box.commit.dispatch();
    }
    if (agent.replies.contains(tid)) break;
  }
  EXPECT_LE(largest, kExpiryBatchMax);
  EXPECT_TRUE(is<PdrReply>(agent.replies.at(tid)));
  EXPECT_EQ(box.engine.rule_count(), 1U);
}

TEST(Disable, CountsRulesThatLeaveNothingOut) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  PdrRequest all{test::protocols_only(Location::kInternal, 0),
                 test::protocols_only(Location::kExternal, 0),
                 {60}};
  const auto one = std::get<PdrReply>(box.ask(agent, all)).pid;
  const auto two = std::get<PdrReply>(box.ask(agent, all)).pid;
  box.ask(agent, PlcRequest{one, {0}});
  EXPECT_EQ(refusal(box.ask(agent, reservation())), kAddressSpaceNotAvailable);
  box.ask(agent, PlcRequest{two, {0}});
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation())));
}

// --- Authorisation -----------------------------------------------------------------------------

TEST(Authorisation, Transactions) {
  for (std::size_t i = 0; i < kTransactions; ++i) {
    auto policy = named("a");
    policy.transactions.reset(i);
    MiddleboxCore box(with(policy));
    auto& agent = box.agent("a");
    const Body requests[] = {reservation(),        pinhole(),       after({9}),  block(),
                             PlcRequest{{9}, {1}}, PrsRequest{{9}}, PrlRequest{}};
    for (std::size_t j = 0; j < kTransactions; ++j) {
      const bool refused = refusal(box.ask(agent, requests[j])) == kAgentNotAuthorized;
      EXPECT_EQ(refused, i == j) << i << " " << j;
    }
  }
}

TEST(Authorisation, WhatMayBeOpened) {
  auto policy = named("a");
  policy.internal = {*parse_prefix("10.0.0.0/24")};
  policy.external = {*parse_prefix("192.0.2.0/24"), *parse_prefix("198.51.100.0/24")};
  policy.protocols.emplace().set(kProtocolUdp);
  policy.internal_ports = {{5000, 5999}, {7000, 7000}};
  policy.external_ports = {{1024, 65535}};
  policy.external_wildcards = false;
  MiddleboxCore box(with(policy));
  auto& agent = box.agent("a");
  const auto ask = [&](auto change) {
    auto request = pinhole();
    request.parameters.direction = Direction::kInbound;
    change(request);
    return refusal(box.ask(agent, request));
  };
  EXPECT_EQ(ask([](auto&) {}), std::nullopt);
  EXPECT_EQ(ask([](auto& r) { r.internal.address[2] = std::byte{1}; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.external.address[0] = std::byte{9}; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.internal.protocol = r.external.protocol = 6; }),
            kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.internal.protocol = r.external.protocol = 0; }),
            kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.internal.port = 5999; }), kAgentNotAuthorized);  // and 6000
  EXPECT_EQ(ask([](auto& r) { r.internal.port = 5998; }), std::nullopt);
  EXPECT_EQ(ask([](auto& r) { r.internal.port = 0; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.external.port = 80; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.external.prefix_length = 25; }), kWildcardingNotSupported);
  EXPECT_EQ(ask([](auto& r) { r.internal.prefix_length = 24; }), std::nullopt);
  EXPECT_EQ(ask([](auto& r) { r.internal.prefix_length = 23; }), kAgentNotAuthorized);
  EXPECT_EQ(refusal(box.ask(agent, block())), kAgentNotAuthorized);  // internal: any
  auto tcp = reservation();
  tcp.parameters.protocol = kProtocolTcp;
  EXPECT_EQ(refusal(box.ask(agent, tcp)), kAgentNotAuthorized);
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation())));
}

// RFC 5189 2.1.8: the agent is told what it may do; 4.2: what it may not wildcard is not supported.
TEST(Authorisation, CapabilitiesAreTheAgents) {
  auto policy = named("a");
  policy.transactions.reset(static_cast<std::size_t>(Transaction::kPdr));
  policy.internal_wildcards = policy.protocol_wildcards = false;
  auto guard = named("guard");
  guard.external_wildcards = guard.port_wildcards = false;
  auto options = with(policy);
  options.directory.add(guard);
  MiddleboxCore box(options);
  auto& agent = box.agent("a");
  const auto told = box.engine.capabilities(agent.agent());
  EXPECT_FALSE(told.disable_rules || told.internal_wildcards);
  EXPECT_TRUE(told.external_wildcards && told.port_wildcards);
  auto& other = box.agent("guard");
  const auto others = box.engine.capabilities(other.agent());
  EXPECT_TRUE(others.disable_rules && others.internal_wildcards);
  EXPECT_FALSE(others.external_wildcards || others.port_wildcards);
  const auto ask = [&](auto& who, auto change) {
    auto request = pinhole();
    request.parameters.direction = Direction::kInbound;
    change(request);
    return refusal(box.ask(who, request));
  };
  const auto internal = [](auto& r) { r.internal.prefix_length = 31; };
  const auto external = [](auto& r) { r.external.prefix_length = 31; };
  const auto port = [](auto& r) { r.external.port = 0; };
  const auto protocol = [](auto& r) { r.internal.protocol = r.external.protocol = 0; };
  EXPECT_EQ(ask(agent, internal), kWildcardingNotSupported);
  EXPECT_EQ(ask(agent, external), std::nullopt);
  EXPECT_EQ(ask(agent, port), std::nullopt);
  EXPECT_EQ(ask(agent, protocol), kWildcardingNotSupported);
  EXPECT_EQ(ask(other, internal), std::nullopt);
  EXPECT_EQ(ask(other, external), kWildcardingNotSupported);
  EXPECT_EQ(ask(other, port), kWildcardingNotSupported);
  EXPECT_EQ(ask(other, protocol), std::nullopt);
  EXPECT_EQ(refusal(box.ask(other, block())), kWildcardingNotSupported);
  auto any = reservation();
  any.parameters.protocol = kProtocolAny;
  EXPECT_EQ(refusal(box.ask(agent, any)), kWildcardingNotSupported);
}

TEST(Authorisation, OtherAgentsRules) {
  MiddleboxCore::Options options;
  options.directory = {};
  auto viewer = named("viewer");
  viewer.may_see = {"a"};
  auto boss = named("boss");
  boss.may_change = {"*"};
  for (const auto& policy : {named("a"), named("b"), viewer, boss}) options.directory.add(policy);
  MiddleboxCore box(options);
  auto& a = box.agent("a");
  const auto mine = std::get<PerReply>(box.ask(a, pinhole()));
  const auto held = std::get<PrrReply>(box.ask(a, reservation()));
  auto member = pinhole(9);
  member.group = mine.group;
  struct Case {
    const char* name;
    std::optional<NegativeReplyCode> status, lifetime, group, pea;
    std::size_t listed;
  };
  const Case cases[] = {
      {"b", kRuleAccessDenied, kRuleAccessDenied, kGroupAccessDenied, kRuleAccessDenied, 0},
      {"viewer", {}, kRuleAccessDenied, kGroupAccessDenied, kRuleAccessDenied, 2},
      // 5189 2.1.5: the rules of a group have one owner.
      {"boss", {}, {}, kGroupAccessDenied, {}, 2},
  };
  for (const auto& [name, status, lifetime, group, pea, listed] : cases) {
    SCOPED_TRACE(name);
    auto& agent = box.agent(name);
    EXPECT_EQ(std::get<PrlReply>(box.ask(agent, PrlRequest{})).pids.size(), listed);
    EXPECT_EQ(refusal(box.ask(agent, PrsRequest{mine.pid})), status);
    EXPECT_EQ(refusal(box.ask(agent, PlcRequest{mine.pid, {50}})), lifetime);
    EXPECT_EQ(refusal(box.ask(agent, member)), group);
    EXPECT_EQ(refusal(box.ask(agent, after(held.pid))), pea);
  }
  EXPECT_TRUE(is<PerReply>(box.ask(a, member)));
  // A rule that somebody else enabled stays its owner's.
  EXPECT_EQ(std::get<PesReply>(box.ask(a, PrsRequest{held.pid})).owner.text(), "a");
}

TEST(Authorisation, LimitsOfAnAgent) {
  auto policy = named("a");
  policy.rules_max = 2;
  policy.lifetime_max_s = 30;
  policy.may_extend = false;
  MiddleboxCore box(with(policy));
  auto& agent = box.agent("a");
  EXPECT_EQ(box.engine.capabilities(agent.agent()).lifetime_max_s, 30U);
  const auto per = std::get<PerReply>(box.ask(agent, pinhole()));
  EXPECT_EQ(per.lifetime, Lifetime{30});
  box.advance(10s);
  EXPECT_EQ(refusal(box.ask(agent, PlcRequest{per.pid, {25}})), kLifetimeNotExtendable);
  EXPECT_EQ(std::get<PlcReply>(box.ask(agent, PlcRequest{per.pid, {15}})).lifetime, Lifetime{15});
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation())));
  EXPECT_EQ(refusal(box.ask(agent, pinhole(9))), kNoResources);
  EXPECT_EQ(refusal(box.ask(agent, block())), kNoResources);
  EXPECT_TRUE(is<PerReply>(box.ask(box.agent("b"), pinhole(9))));
}

// Rules are not alike: one with a thousand ports takes what a thousand others take.
TEST(Authorisation, ElementsOfAnAgent) {
  auto policy = named("a");
  policy.elements_max = 10;
  MiddleboxCore box(with(policy));
  auto& agent = box.agent("a");
  auto wide = pinhole();
  wide.internal.port_range = wide.external.port_range = 8;
  const auto per = std::get<PerReply>(box.ask(agent, wide));
  EXPECT_EQ(box.engine.element_count(), 8U);
  wide.internal.port += 100;
  EXPECT_EQ(refusal(box.ask(agent, wide)), kNoResources);
  EXPECT_TRUE(is<PerReply>(box.ask(agent, pinhole(9)))) << "2 ports";
  EXPECT_EQ(refusal(box.ask(agent, block())), kNoResources);
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation()))) << "lets nothing pass";
  EXPECT_TRUE(is<PerReply>(box.ask(box.agent("b"), wide)));
  box.ask(agent, PlcRequest{per.pid, {0}});
  EXPECT_TRUE(is<PerReply>(box.ask(agent, wide)));
  EXPECT_EQ(box.engine.element_count(), 18U);
}

TEST(Authorisation, NoLifetimeIsGrantedBeyondWhatTheSessionWasTold) {
  MiddleboxCore box;
  auto& agent = box.agent("a");
  agent.told_lifetime_max_s = 20;
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, pinhole())).lifetime, Lifetime{20});
}

TEST(Authorisation, ANewDirectoryCountsAtOnceAndRulesStay) {
  MiddleboxCore box;
  auto& a = box.agent("a");
  const auto pid = std::get<PerReply>(box.ask(a, pinhole())).pid;
  AgentDirectory fresh;
  auto boss = named("boss");
  boss.may_see = {"a"};
  fresh.add(boss);
  auto& late = box.agent("boss");
  box.engine.apply(fresh);
  EXPECT_EQ(refusal(box.ask(a, PrsRequest{pid})), kAgentNotAuthorized);
  EXPECT_TRUE(is<PesReply>(box.ask(late, PrsRequest{pid})));
  EXPECT_EQ(box.engine.watchers().size(), 1U);
}

TEST(AgentDirectory, NamesAndAddresses) {
  AgentDirectory directory;
  EXPECT_TRUE(directory.add(named("proxy")));
  EXPECT_FALSE(directory.add(named("proxy")));
  EXPECT_TRUE(directory.add(named("anonymous@10.0.0.0/8")));
  EXPECT_FALSE(directory.add(named("anonymous@10.0.0.0/8")));
  EXPECT_TRUE(directory.add(named("anonymous@10.1.2.3")));
  EXPECT_FALSE(directory.add(named("anonymous@nowhere")));
  const auto name_for = [&](const char* address) {
    const auto* policy = directory.find_anonymous(*parse_address(address));
    return policy == nullptr ? "" : policy->name;
  };
  EXPECT_EQ(name_for("10.9.9.9"), "anonymous@10.0.0.0/8");
  EXPECT_EQ(name_for("10.1.2.3"), "anonymous@10.1.2.3");
  EXPECT_EQ(name_for("11.1.2.3"), "");
  EXPECT_EQ(name_for("::1"), "");
  EXPECT_EQ(directory.find("anonymous@10.1.2.3")->name, "anonymous@10.1.2.3");
  EXPECT_EQ(directory.find("anonymous@fe80::1%eth0"), nullptr);
  EXPECT_TRUE(directory.add(named("anonymous")));
  EXPECT_EQ(directory.find("anonymous@fe80::1%eth0")->name, "anonymous");
  EXPECT_EQ(directory.find("nobody"), nullptr);
}

}  // namespace
}  // namespace simco::policy
