// The middleboxes, agents and requests that the tests of single transactions begin with.
#pragma once

#include "tests/support/pipeline_fixture.hpp"

namespace simco::policy {

inline test::PipelineFixture::Options nat(Mode mode = Mode::kTraditionalNat) {
  test::PipelineFixture::Options options;
  options.nat.mode = mode;
  options.nat.outside = {{*parse_address("198.51.100.1"), 2}};
  if (mode == Mode::kTwiceNat) options.nat.inside = {{*parse_address("172.16.0.1"), 2}};
  options.nat.first_port = 5000;
  options.nat.last_port = 5099;
  return options;
}

inline PrrRequest reservation(std::uint16_t ports = 2,
                              ReservedParity parity = ReservedParity::kEven) {
  PrrRequest request;
  request.parameters.parity = parity;
  request.parameters.protocol = kProtocolUdp;
  request.parameters.port_range = ports;
  request.lifetime = {60};
  return request;
}

inline PeaRequest after(PolicyRuleId pid, std::uint16_t port = 5004) {
  const auto per = test::pinhole(port);
  return {per.parameters, per.internal, per.external, per.lifetime, pid};
}

inline PdrRequest block(std::uint8_t protocol = kProtocolUdp) {
  return {test::protocols_only(Location::kInternal, protocol),
          test::ipv4(Location::kExternal, {192, 0, 2, 7}, 0, 1, protocol),
          {60}};
}

template <class T>
bool is(const Body& body) {
  return std::holds_alternative<T>(body);
}

inline test::PipelineFixture::Options with(AgentPolicy policy) {
  test::PipelineFixture::Options options;
  options.directory = {};
  options.directory.add(std::move(policy));
  return options;
}

inline AgentPolicy named(const char* name) {
  AgentPolicy policy;
  policy.name = name;
  return policy;
}

}  // namespace simco::policy
