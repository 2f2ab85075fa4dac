// The counts of rules, from the --inspect address of a middlebox with --counters (doc/
// operating.md): RFC 4540 has no attribute for it. Values and their reading; no I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simco/wire/ids.hpp"
#include "simco/wire/packet_count.hpp"

namespace simco::agent {

/// The traffic that a rule has let pass, or a disable rule has blocked, in both directions
/// together. Times are ages at the time of the answer.
struct RuleTraffic {
  using Age = std::chrono::milliseconds;

  PacketCount count;
  /// The last packet passed between two readings of the counters; nullopt: none has been seen.
  struct LastPacket {
    Age after{};  ///< of the reading that did not have it
    Age until{};  ///< of the reading that had it
  };
  std::optional<LastPacket> last_packet;
  Age complete{};  ///< everything since then is counted; earlier packets may be missing
  Age read{};      ///< of the readings, or less
  /// Which run of the middlebox has counted it: each begins at 0.
  std::uint32_t run = 0;
  std::map<std::uint16_t, PacketCount> ports;  ///< by internal port, if the rule has few of them
};

using RuleTraffics = std::map<PolicyRuleId, RuleTraffic>;

/// Returns the path of a request for `pids`, kInspectedRulesMax at most.
std::string inspection_path(std::span<const PolicyRuleId> pids);
/// Reads an answer. Rules that are not in force are not in it. The error is a sentence: the
/// middlebox does not count, or a middlebox does not answer like this.
std::expected<RuleTraffics, std::string> read_inspection(std::string_view answer);

}  // namespace simco::agent
