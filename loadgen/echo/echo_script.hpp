// The `echo` workload in a replay: simco-echo returns what it gets.
#pragma once

#include "loadgen/options.hpp"
#include "loadgen/replay/script.hpp"

namespace simco::loadgen {

/// Echo messages, numbered on each connection.
class EchoScript final : public replay::Script {
 public:
  /// Throws std::runtime_error if the transport is not reliable.
  explicit EchoScript(const Settings& settings);

  replay::Exchange exchange(std::uint64_t index, const replay::Place& place) const override;
  void complete(replay_plan& plan, const replay::Exchange& first) const override;

 private:
  std::uint32_t connections_;
};

}  // namespace simco::loadgen
