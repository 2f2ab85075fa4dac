// Agents that the middlebox knows by name, and one that it does not.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "simco/session/authentication.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::test {

/// The anonymous agent of the loopback addresses, and one called proxy.
inline middlebox::ServerOptions with_agents(
    const std::function<void(policy::AgentPolicy&)>& change) {
  middlebox::ServerOptions options;
  options.directory = {};
  policy::AgentPolicy anonymous;
  anonymous.name = "anonymous@127.0.0.0/8";
  change(anonymous);
  options.directory.add(anonymous);
  policy::AgentPolicy proxy;
  proxy.name = "proxy";
  proxy.secret = "sesame";
  options.directory.add(proxy);
  return options;
}

inline Body authenticate(RawAgent& agent, const std::string& name, const std::string& secret) {
  // With a challenge of its own, an agent that might stay anonymous is asked for its name, too.
  const auto greeting = agent.ask(SeRequest{{3, 0}, Challenge{OctetsView::of("?")}});
  const auto* asked = std::get_if<SaReply>(&greeting);
  EXPECT_TRUE(asked != nullptr && asked->challenge);
  if (asked == nullptr || !asked->challenge) return greeting;
  const auto token = make_agent_token({name, secret}, asked->challenge->octets);
  return agent.ask(SaRequest{Token{{token}}});
}

inline PolicyRuleId add(RawAgent& agent, std::uint16_t port = 5004) {
  return std::get<PerReply>(agent.ask(pinhole(port, kLongLifetimeS))).pid;
}

}  // namespace simco::test
