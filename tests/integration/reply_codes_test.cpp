// Every negative reply that this middlebox can give, provoked over a socket.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/integration/agents.hpp"
#include "tests/support/patience.hpp"

namespace simco {
namespace {

using enum NegativeReplyCode;
using middlebox::ServerOptions;
using test::add;
using test::authenticate;
using test::RawAgent;
using test::refusal;
using test::ServerThread;
using test::with_agents;

ServerOptions firewall() { return {}; }

ServerOptions nat(policy::Mode mode = policy::Mode::kTraditionalNat) {
  ServerOptions options;
  options.nat.mode = mode;
  options.nat.outside = {{*parse_address("198.51.100.1"), 1}};
  if (mode == policy::Mode::kTwiceNat) options.nat.inside = {{*parse_address("172.16.0.1"), 1}};
  options.nat.first_port = 5001;
  options.nat.last_port = 5004;
  return options;
}

/// Only agents that authenticate; proxy has no right to anything, so that it may not even open.
ServerOptions closed() {
  ServerOptions options;
  options.directory = {};
  policy::AgentPolicy proxy;
  proxy.name = "proxy";
  proxy.secret = "sesame";
  proxy.transactions.reset();
  options.directory.add(proxy);
  return options;
}

PerRequest pinhole() { return test::pinhole(5004, test::kLongLifetimeS); }

PrrRequest reservation(std::uint8_t protocol, std::uint16_t ports) {
  PrrRequest request;
  request.parameters.protocol = protocol;
  request.parameters.port_range = ports;
  request.lifetime = {test::kLongLifetimeS};
  return request;
}

PerRequest changed(const std::function<void(PerRequest&)>& change) {
  auto request = pinhole();
  request.parameters.direction = Direction::kInbound;
  change(request);
  return request;
}

PdrRequest block_everything() {
  return {test::protocols_only(Location::kInternal, kProtocolUdp),
          test::protocols_only(Location::kExternal, kProtocolUdp),
          {test::kLongLifetimeS}};
}

struct Case {
  NegativeReplyCode code;
  ServerOptions options;
  std::function<Body(RawAgent&, ServerThread&)> provoke;  ///< answers the reply
};

/// The reply to octets that are no proper request.
Body raw(RawAgent& agent, std::string_view hex) {
  agent.send(hex);
  const auto reply = agent.receive();
  return reply ? reply->body : Body{BfmNotification{}};
}

std::vector<Case> format_and_session_cases() {
  const auto few_sessions = [] {
    ServerOptions options;
    options.sessions_max = 1;
    return options;
  };
  const auto tls_only = [] {
    ServerOptions options;
    options.require = middlebox::Require::kTls;
    return options;
  };
  return {
      {kSecurityInsufficient, tls_only(), [](RawAgent& a, auto&) { return a.ask(SeRequest{}); }},
      {kWrongBasicType, firewall(),
       [](RawAgent& a, auto&) { return raw(a, "02 01 0000 00000001"); }},
      {kWrongSubType, firewall(), [](RawAgent& a, auto&) { return raw(a, "01 12 0000 00000001"); }},
      {kBadlyFormedRequest, firewall(),
       [](RawAgent& a, auto&) { return raw(a, "01 01 0004 00000001 0001 0000"); }},
      {kNotApplicable, firewall(),
       [](RawAgent& a, auto&) {
         a.open();
         return a.ask(SeRequest{});
       }},
      {kLackOfResources, few_sessions(),
       [](RawAgent& a, ServerThread& server) {
         RawAgent first(server.port());
         first.open();
         return a.ask(SeRequest{});
       }},
      {kLackOfResources, with_agents([](auto& policy) { policy.sessions_max = 1; }),
       [](RawAgent& a, ServerThread& server) {
         RawAgent first(server.port());
         first.open();
         return a.ask(SeRequest{});
       }},
      {kVersionMismatch, firewall(),
       [](RawAgent& a, auto&) { return a.ask(SeRequest{{2, 0}, {}}); }},
      {kAuthenticationFailed, closed(),
       [](RawAgent& a, auto&) { return authenticate(a, "proxy", "wrong"); }},
      {kAuthenticationFailed, closed(),
       [](RawAgent& a, auto&) { return authenticate(a, "nobody", "sesame"); }},
      {kAuthenticationFailed, closed(),
       [](RawAgent& a, auto&) {
         a.ask(SeRequest{});
         return a.ask(SaRequest{});
       }},
      {kAuthenticationFailed, closed(),
       [](RawAgent& a, auto&) {
         a.ask(SeRequest{});
         return a.ask(SaRequest{Token{OctetsView::of("rubbish")}});
       }},
      {kNoAuthorization, closed(),
       [](RawAgent& a, auto&) { return authenticate(a, "proxy", "sesame"); }},
      {kNoAuthorization,
       [] {
         ServerOptions options;
         options.directory = {};
         policy::AgentPolicy elsewhere;
         elsewhere.name = "anonymous@192.0.2.1";
         options.directory.add(elsewhere);
         return options;
       }(),
       [](RawAgent& a, auto&) { return a.ask(SeRequest{}); }},
  };
}

std::vector<Case> rule_cases() {
  const auto in_session = [](std::function<Body(RawAgent&)> provoke) {
    return [provoke = std::move(provoke)](RawAgent& agent, ServerThread&) {
      agent.open();
      return provoke(agent);
    };
  };
  const auto one_rule = [] {
    ServerOptions options;
    options.rules_max = 1;
    return options;
  };
  const auto per = [&](auto change) {
    return in_session([change](RawAgent& a) { return a.ask(changed(change)); });
  };
  /// Proxy makes a rule; the anonymous agent asks about it.
  const auto others_rule = [](std::function<Body(RawAgent&, PerReply)> provoke) {
    return [provoke = std::move(provoke)](RawAgent& agent, ServerThread& server) {
      RawAgent proxy(server.port());
      EXPECT_TRUE(std::holds_alternative<SeReply>(authenticate(proxy, "proxy", "sesame")));
      const auto made = std::get<PerReply>(proxy.ask(pinhole()));
      agent.open();
      return provoke(agent, made);
    };
  };
  const auto nobody = with_agents([](auto&) {});
  const auto viewer = with_agents([](auto& policy) { policy.may_see = {"proxy"}; });
  return {
      {kReplyTooBig, firewall(), in_session([](RawAgent& a) {
         for (unsigned i = 0; i < 8192; ++i) add(a, static_cast<std::uint16_t>(1 + i));
         return a.ask(PrlRequest{});
       })},
      {kAgentNotAuthorized,
       with_agents([](auto& policy) { policy.internal = {*parse_prefix("10.9.0.0/16")}; }),
       in_session([](RawAgent& a) { return a.ask(pinhole()); })},
      {kNoResources, one_rule(), in_session([](RawAgent& a) {
         add(a);
         return a.ask(pinhole());
       })},
      {kNoResources, with_agents([](auto& policy) { policy.rules_max = 1; }),
       in_session([](RawAgent& a) {
         add(a);
         return a.ask(reservation(17, 1));
       })},
      {kNoSuchRule, firewall(), in_session([](RawAgent& a) { return a.ask(PrsRequest{{99}}); })},
      {kNoSuchGroup, firewall(), per([](auto& r) { r.group = GroupId{99}; })},
      {kRuleAccessDenied, nobody,
       others_rule([](RawAgent& a, PerReply made) { return a.ask(PrsRequest{made.pid}); })},
      {kGroupAccessDenied, nobody, others_rule([](RawAgent& a, PerReply made) {
         return a.ask(changed([&](auto& r) { r.group = made.group; }));
       })},
      {kAddressSpaceNotAvailable, firewall(), in_session([](RawAgent& a) {
         a.ask(block_everything());
         return a.ask(reservation(17, 1));
       })},
      {kLackOfAddresses, nat(), in_session([](RawAgent& a) {
         a.ask(pinhole());
         return a.ask(reservation(0, 1));
       })},
      {kLackOfPorts, nat(), in_session([](RawAgent& a) {
         a.ask(reservation(17, 4));
         return a.ask(pinhole());
       })},
      {kConfigurationFailed, firewall(), per([](auto& r) { r.lifetime = {0}; })},
      {kInconsistentRequest, firewall(),
       per([](auto& r) { r.internal.location = Location::kOutside; })},
      {kWildcardingNotSupported, nat(), per([](auto& r) { r.internal.prefix_length = 24; })},
      {kWildcardingNotSupported,
       with_agents([](auto& policy) { policy.external_wildcards = false; }),
       per([](auto& r) { r.external.prefix_length = 24; })},
      {kProtocolMismatch, firewall(), in_session([](RawAgent& a) {
         const auto held = std::get<PrrReply>(a.ask(reservation(kProtocolTcp, 2)));
         const auto open = pinhole();
         return a.ask(
             PeaRequest{open.parameters, open.internal, open.external, open.lifetime, held.pid});
       })},
      {kNatModeNotSupported, nat(policy::Mode::kTwiceNat),
       in_session([](RawAgent& a) { return a.ask(reservation(17, 1)); })},
      {kIpVersionMismatch, nat(), in_session([](RawAgent& a) {
         auto request = reservation(17, 1);
         request.parameters.outside_version = RequestedIpVersion::kIpv6;
         return a.ask(request);
       })},
      {kConflict, firewall(), in_session([](RawAgent& a) {
         a.ask(block_everything());
         return a.ask(pinhole());
       })},
      {kRuleAccessDenied, viewer,
       others_rule([](RawAgent& a, PerReply made) { return a.ask(PlcRequest{made.pid, {9}}); })},
      {kLifetimeNotExtendable, with_agents([](auto& policy) { policy.may_extend = false; }),
       in_session([](RawAgent& a) { return a.ask(PlcRequest{add(a), {3000}}); })},
      {kIllegalAddress, firewall(), per([](auto& r) { r.external.prefix_length = 33; })},
      {kProtocolNotSupported, nat(), per([](auto& r) {
         r.internal.protocol = r.external.protocol = 47;
         r.internal.port = r.external.port = 0;
       })},
      {kIllegalPort, firewall(),
       per([](auto& r) { r.internal.protocol = r.external.protocol = 1; })},
      {kIllegalPortRange, firewall(), per([](auto& r) { r.internal.port = 65535; })},
      {kParityMismatch, nat(), in_session([](RawAgent& a) {
         auto held = reservation(17, 2);
         held.parameters.parity = ReservedParity::kOdd;
         const auto pid = std::get<PrrReply>(a.ask(held)).pid;
         auto open = pinhole();
         open.parameters.parity = PortParity::kSame;
         return a.ask(
             PeaRequest{open.parameters, open.internal, open.external, open.lifetime, pid});
       })},
  };
}

/// What cannot come, and why.
const std::set<NegativeReplyCode> kNeverGiven = {
    kTransportProtocolProblem,  // every connection that can be made will do
    kTransactionNotSupported,   // all are
    kLifetimeChangeDenied,      // 8.5 has 0x0345 for that
    kAlreadyEnabled,            // 8.4.1: a PEA on an enabled rule is inconsistent, 0x034B
};

TEST(ReplyCodes, EachOneOverASocket) {
  std::set<NegativeReplyCode> given;
  auto cases = format_and_session_cases();
  for (auto& one : rule_cases()) cases.push_back(std::move(one));
  for (const auto& [code, options, provoke] : cases) {
    SCOPED_TRACE(std::string(to_string(code)));
    ServerThread server(options);
    RawAgent agent(server.port());
    EXPECT_EQ(refusal(provoke(agent, server)), code);
    given.insert(code);
  }
  for (const auto code : kNegativeReplyCodes) {
    EXPECT_NE(given.contains(code), kNeverGiven.contains(code)) << to_string(code);
  }
}

}  // namespace
}  // namespace simco
