// The bindings of reservations and enable rules, and their sharing.
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

TEST(Nat, TellsTheBackendWhatItHasGiven) {
  PipelineFixture box(nat(Mode::kTwiceNat));
  auto& agent = box.agent("a");
  auto request = pinhole(5005);
  request.parameters.parity = PortParity::kSame;
  const auto per = std::get<PerReply>(box.ask(agent, request));
  const auto& change = box.backend.batches.back().at(0);
  EXPECT_EQ(change.after.outside, per.outside);
  EXPECT_EQ(change.after.inside, per.inside);
  EXPECT_EQ(per.outside.port % 2, 1);  // as internal 5005
  EXPECT_EQ(per.inside->port % 2, 0);  // as external 6000
  EXPECT_EQ(per.outside.port_range, 2);
  const auto pes = std::get<PesReply>(box.ask(agent, PrsRequest{per.pid}));
  EXPECT_EQ(pes.outside, per.outside);
  EXPECT_EQ(pes.inside, per.inside);
  EXPECT_EQ(pes.internal, request.internal);
}

TEST(Nat, ARefusedRuleGivesBackWhatItTook) {
  auto options = nat();
  options.nat.outside[0].count = 1;
  options.nat.last_port = 5001;
  PipelineFixture box(options);
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
  PipelineFixture box(nat());
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
  PipelineFixture box(options);
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

// RFC 5189 2.3.9: an internal endpoint is not bound to two places, by the rules of one owner.
TEST(Nat, RulesOfOneOwnerShareTheBindingOfAnEndpoint) {
  PipelineFixture box(nat());
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
  // The parity does not change.
  auto odd = pinhole(5004);
  odd.parameters.parity = PortParity::kSame;
  odd.internal.port_range = odd.external.port_range = 1;
  const auto even_port = std::get<PerReply>(box.ask(agent, odd));
  EXPECT_EQ(even_port.outside.port % 2, 0);
}

TEST(Nat, AnEndpointOfTheWrongParityIsNotBoundTwice) {
  PipelineFixture box(nat());
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
  PipelineFixture box(nat(Mode::kTwiceNat));
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

// 8.4.3 gives PEA the reservation of PRR, also for an endpoint that is bound already.
TEST(Nat, AnEnabledReservationIsSharedFromThenOn) {
  PipelineFixture box(nat());
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
    PipelineFixture box(nat());
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

/// Recovers rules of a box that is gone, as its owner's.
void recover(PipelineFixture& box, std::vector<rule::RuleRecord> kept) {
  box.agent("a");
  for (auto& record : kept) {
    record.owner_name = "a";
    const auto plan = box.engine.recover(record, {60});
    ASSERT_TRUE(plan) << plan.error();
    box.engine.settle(plan->slot, plan->change, ChangeResult::kDone, box.now());
  }
}

// The reservation is older than the rule, and its binding was shared later.
TEST(Nat, TheOldestBindingIsStillTheOldestAfterARestart) {
  std::vector<rule::RuleRecord> kept;
  AddressTuple oldest;
  {
    PipelineFixture box(nat());
    auto& agent = box.agent("a");
    const auto held = std::get<PrrReply>(box.ask(agent, reservation()));
    oldest = std::get<PerReply>(box.ask(agent, pinhole())).outside;
    kept.push_back(box.backend.batches.back().at(0).after);
    box.ask(agent, after(held.pid));
    kept.insert(kept.begin(), box.backend.batches.back().at(0).after);
    EXPECT_EQ(std::get<PerReply>(box.ask(agent, pinhole())).outside, oldest);
  }
  PipelineFixture box(nat());
  recover(box, kept);
  EXPECT_EQ(std::get<PerReply>(box.ask(box.agent("a"), pinhole())).outside, oldest);
}

TEST(Nat, SharingOutlivesARestart) {
  std::vector<rule::RuleRecord> kept;
  const auto options = nat(Mode::kTwiceNat);
  AddressTuple outside;
  {
    PipelineFixture box(options);
    auto& agent = box.agent("a");
    for (int i = 0; i < 2; ++i) {
      const auto per = std::get<PerReply>(box.ask(agent, pinhole()));
      kept.push_back(box.backend.batches.back().at(0).after);
      outside = per.outside;
    }
  }
  PipelineFixture box(options);
  auto& agent = box.agent("a");
  recover(box, kept);
  EXPECT_EQ(box.engine.nat_usage().pools[0].ports_in_use, 2U);
  box.ask(agent, PlcRequest{kept[0].pid, {0}});
  EXPECT_EQ(std::get<PerReply>(box.ask(agent, pinhole())).outside, outside);
  EXPECT_EQ(std::get<PesReply>(box.ask(agent, PrsRequest{kept[1].pid})).outside, outside);
}

TEST(Nat, CapabilitiesSayWhatItIs) {
  for (const auto mode : {Mode::kFirewall, Mode::kTraditionalNat, Mode::kTwiceNat}) {
    PipelineFixture box(mode == Mode::kFirewall ? PipelineFixture::Options{} : nat(mode));
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

}  // namespace
}  // namespace simco::policy
