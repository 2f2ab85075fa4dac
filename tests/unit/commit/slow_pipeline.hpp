// A pipeline whose backend answers when the test says so, and requests for it.
#pragma once

#include "tests/support/pipeline_fixture.hpp"

namespace simco::middlebox {

/// Holds each batch until the test gives its results.
struct Slow : test::PipelineFixture {
  explicit Slow(std::uint32_t rules_max = 1000) : test::PipelineFixture(rules_max) {
    backend.automatic = false;
  }
  /// A PER of `agent` that has been granted; returns its PID.
  PolicyRuleId enable(Agent& agent, const PerRequest& request) {
    const auto tid = submit(agent, request);
    commit.dispatch();
    backend.finish();
    return std::get<PerReply>(agent.replies.at(tid)).pid;
  }
};

/// A rule that takes the kernel as long as many others.
inline PerRequest wide(std::uint16_t port) {
  auto request = test::pinhole(port);
  request.internal.port_range = request.external.port_range = 1000;
  return request;
}

/// Blocks the traffic of pinhole(port).
inline PdrRequest disabling_one(std::uint16_t port) {
  const auto request = test::pinhole(port);
  return {request.internal, request.external, {60}};
}

}  // namespace simco::middlebox
