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
  // PEA has to keep to the version that was told.
  EXPECT_EQ(refusal(box.ask(agent, after(prr.pid))), kIpVersionMismatch);
  EXPECT_TRUE(is<PrsReply>(box.ask(agent, PrsRequest{prr.pid})));
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
  const auto pdr = std::get<PdrReply>(box.ask(guard, block()));
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
  // From the moment it is planned, nothing gets past it.
  EXPECT_EQ(refusal(box.ask(agent, pinhole(5008))), kConflict);
  box.commit.dispatch();
  box.backend.finish({ChangeResult::kRefused});
  EXPECT_EQ(refusal(agent.replies[tid]), kConfigurationFailed);
  box.backend.automatic = true;
  EXPECT_TRUE(is<PesReply>(box.ask(agent, PrsRequest{pid})));
  EXPECT_TRUE(is<PerReply>(box.ask(agent, pinhole(5008))));
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
  const auto first = std::get<PerReply>(box.ask(agent, pinhole(5004))).pid;
  const auto second = std::get<PerReply>(box.ask(agent, pinhole(5006))).pid;
  box.backend.automatic = false;
  const auto per = box.submit(agent, pinhole(5008));
  const auto longer = box.submit(agent, PlcRequest{first, {500}});
  box.commit.dispatch();
  const auto pdr = box.submit(agent, block());
  const auto removal = box.submit(agent, PlcRequest{second, {0}});
  const auto late = box.submit(agent, PlcRequest{first, {900}});  // waits for `longer`
  box.backend.finish();  // per, longer; then the PDR and the removal go
  EXPECT_TRUE(is<PerReply>(agent.replies.at(per)));
  EXPECT_TRUE(is<PlcReply>(agent.replies.at(longer)));
  while (box.backend.busy()) box.backend.finish();
  EXPECT_TRUE(is<PrdReply>(agent.replies.at(removal)));
  EXPECT_TRUE(is<PlcReply>(agent.replies.at(late)));
  EXPECT_FALSE(agent.replies.contains(pdr));  // `first` is still there
  box.backend.automatic = true;
  box.advance(0ms);  // the rule that `late` had under way is due at once
  EXPECT_TRUE(is<PdrReply>(agent.replies.at(pdr)));
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
  EXPECT_EQ(ask([](auto& r) { r.external.prefix_length = 25; }), kAgentNotAuthorized);
  EXPECT_EQ(ask([](auto& r) { r.internal.prefix_length = 24; }), std::nullopt);
  EXPECT_EQ(ask([](auto& r) { r.internal.prefix_length = 23; }), kAgentNotAuthorized);
  EXPECT_EQ(refusal(box.ask(agent, block())), kAgentNotAuthorized);  // internal: any
  auto tcp = reservation();
  tcp.parameters.protocol = kProtocolTcp;
  EXPECT_EQ(refusal(box.ask(agent, tcp)), kAgentNotAuthorized);
  EXPECT_TRUE(is<PrrReply>(box.ask(agent, reservation())));
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
      {"viewer", {}, kLifetimeChangeDenied, kGroupAccessDenied, kRuleAccessDenied, 2},
      {"boss", {}, {}, {}, {}, 2},
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
  // The group goes on to belong to the agent that made it, as long as anybody's rule is in it.
  box.ask(a, PlcRequest{mine.pid, {0}});
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
