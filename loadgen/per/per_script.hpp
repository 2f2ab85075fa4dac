// The `per` workload in a replay: a middlebox without a backend, which grants every rule and tells
// of its end (ARE).
#pragma once

#include <expected>

#include "loadgen/options.hpp"
#include "loadgen/replay/script.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/net/listener.hpp"

namespace simco::loadgen {

/// PER transactions. Rules have their identifiers in the order of the requests: simco-middlebox's
/// are in the order of arrival.
class PerScript final : public replay::Script {
 public:
  /// Throws std::runtime_error if a middlebox would refuse some rules, if rules are deleted, or if
  /// there are several connections: each session of an agent is told of the others' rules.
  explicit PerScript(const Settings& settings);

  void open(const net::BareSocket& connection) const override;
  replay::Exchange exchange(std::uint64_t index, const replay::Place& place) const override;
  void complete(replay_plan& plan, const replay::Exchange& first) const override;
};

/// The middlebox's part of PerScript::open(). Throws std::runtime_error.
void open_session(const net::BareSocket& connection);

/// Parses the words that the laboratory gives to simco-middlebox.
std::expected<net::ListenOptions, cli::UsageExit> parse_box_settings(int argc,
                                                                     const char* const* argv);

}  // namespace simco::loadgen
