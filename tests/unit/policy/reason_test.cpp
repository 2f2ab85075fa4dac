// Why a request was refused, in the words that the log has.
#include <gtest/gtest.h>

#include "tests/unit/policy/requests.hpp"

namespace simco::policy {
namespace {

using enum NegativeReplyCode;
using rule::ChangeResult;
using test::pinhole;
using test::PipelineFixture;
using test::refusal;

/// The refusal with `code`, and its reason.
std::string why(PipelineFixture& box, PipelineFixture::Agent& agent, NegativeReplyCode code,
                const Body& request) {
  box.reason = "granted";
  EXPECT_EQ(refusal(box.ask(agent, request)), code);
  return box.reason;
}

PerRequest inbound(const std::function<void(PerRequest&)>& change) {
  auto request = pinhole();
  request.parameters.direction = Direction::kInbound;
  change(request);
  return request;
}

TEST(Reason, TheRightThatIsMissing) {
  auto policy = named("a");
  policy.internal = {*parse_prefix("10.0.0.0/24")};
  policy.internal_ports = {{5000, 5999}, {7000, 7000}};
  policy.protocols.emplace().set(kProtocolUdp);
  policy.transactions.reset(static_cast<std::size_t>(Transaction::kPdr));
  PipelineFixture box(with(policy));
  auto& agent = box.agent("a");
  const auto denied = [&](const std::function<void(PerRequest&)>& change) {
    return why(box, agent, kAgentNotAuthorized, inbound(change));
  };
  EXPECT_EQ(denied([](auto& r) { r.internal.address[2] = std::byte{9}; }),
            "internal 10.0.9.5 is outside 'internal': 10.0.0.0/24");
  EXPECT_EQ(denied([](auto& r) { r.internal.port = 80; }),
            "internal port 80/2 is outside 'internal-ports': 5000-5999, 7000");
  EXPECT_EQ(denied([](auto& r) { r.internal.protocol = r.external.protocol = kProtocolTcp; }),
            "protocol tcp is not in 'protocols'");
  EXPECT_EQ(why(box, agent, kAgentNotAuthorized, block()),
            "'transactions' of the agent do not include PDR");
  auto reserve = reservation();
  reserve.parameters.protocol = kProtocolTcp;
  EXPECT_EQ(why(box, agent, kAgentNotAuthorized, reserve), "protocol tcp is not in 'protocols'");
}

TEST(Reason, TheFieldThatIsWrong) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  EXPECT_EQ(
      why(box, agent, kInconsistentRequest, inbound([](auto& r) { r.external.port_range = 4; })),
      "internal has 2 ports, external 4");
  EXPECT_EQ(why(box, agent, kInconsistentRequest, inbound([](auto& r) {
                  r.external.port = 0;
                  r.parameters.direction = Direction::kBidirectional;
                })),
            "direction both needs exact addresses and ports on both sides");
  EXPECT_EQ(why(box, agent, kInconsistentRequest,
                inbound([](auto& r) { r.external.protocol = kProtocolTcp; })),
            "the sides have different protocols");
  EXPECT_EQ(why(box, agent, kIpVersionMismatch,
                inbound([](auto& r) { r.external = test::ipv6(Location::kExternal, 7, 6000); })),
            "internal is IPv4, external IPv6");
  EXPECT_EQ(why(box, agent, kIllegalPortRange, inbound([](auto& r) { r.internal.port_range = 0; })),
            "the number of ports must be at least 1, and the last port at most 65535");
  EXPECT_EQ(why(box, agent, kConfigurationFailed, inbound([](auto& r) { r.lifetime = {0}; })),
            "a lifetime of 0 s");
  EXPECT_EQ(why(box, agent, kNoSuchGroup, inbound([](auto& r) { r.group = GroupId{77}; })),
            "there is no group 77");
  EXPECT_EQ(why(box, agent, kNoSuchRule, PrsRequest{{77}}), "there is no rule 77");
}

TEST(Reason, TheRuleThatIsInTheWay) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  auto& guard = box.agent("guard");
  const auto mine = std::get<PerReply>(box.ask(agent, pinhole())).pid;
  EXPECT_EQ(why(box, guard, kRuleAccessDenied, PlcRequest{mine, {1}}),
            "'change' of 'guard' does not include 'a', the owner");
  EXPECT_EQ(why(box, agent, kInconsistentRequest, after(mine)),
            "rule 1 of 'a' is not a reservation");
  const auto blocked = std::get<PdrReply>(box.ask(guard, block())).pid;
  EXPECT_EQ(why(box, agent, kConflict, pinhole()),
            "disable rule " + std::to_string(blocked.value) + " of 'guard' blocks it");
}

TEST(Reason, TheLimitThatIsReached) {
  auto policy = named("a");
  policy.rules_max = 1;
  auto few = named("few");
  few.elements_max = 1;
  auto options = with(policy);
  options.directory.add(few);
  options.rules_max = 2;
  PipelineFixture box(options);
  auto& agent = box.agent("a");
  EXPECT_EQ(why(box, box.agent("few"), kNoResources, pinhole()),
            "'max-elements' of 'few' (1) is reached");
  box.ask(agent, pinhole());
  EXPECT_EQ(why(box, agent, kNoResources, pinhole(9)), "'max-rules' of 'a' (1) is reached");
  auto& other = box.agent("b");
  box.ask(other, pinhole(11));
  EXPECT_EQ(why(box, other, kNoResources, pinhole(13)), "--max-rules (2) is reached");
}

TEST(Reason, WhatTheBackendDidNotTake) {
  PipelineFixture box;
  auto& agent = box.agent("a");
  box.ask(agent, pinhole());
  const auto refused = [&](ChangeResult result) {
    box.backend.automatic = false;
    box.submit(agent, pinhole());
    box.commit.dispatch();
    box.backend.finish({result});
    return box.reason;
  };
  EXPECT_EQ(refused(ChangeResult::kRefused),
            "the backend cannot do it: rule 1 of 'a' is for some of the same packets already");
  EXPECT_EQ(refused(ChangeResult::kNoResources), "the backend has no room for it");
}

}  // namespace
}  // namespace simco::policy
