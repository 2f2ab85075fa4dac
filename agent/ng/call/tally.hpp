// The counts of a call's rules: those in force, those that are asked for the last time, and those
// that have ended. No I/O, no clock.
//
// Counters begin at 0 again whenever the middlebox is started, and rules come and go. So each
// reading adds its increase over the previous reading of the rule to the total.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "agent/ng/call/media.hpp"
#include "agent/rule_traffic.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/packet_count.hpp"

namespace simco::ng {

/// Packets of media, and their octets without the headers of IP and UDP.
struct MediaCount {
  PacketCount rtp;
  PacketCount rtcp;
};

class Tally {
 public:
  /// A reading of a rule's counters.
  struct Reading {
    IpVersion version = IpVersion::kIpv4;
    std::optional<std::uint16_t> rtcp_port;  ///< as NeededRule::rtcp_port
    std::optional<std::uint32_t> run;        ///< of the middlebox; nullopt: never read
    MediaCount count;
  };

  Tally() = default;
  /// From before a restart.
  Tally(MediaCount total, std::map<PolicyRuleId, Reading> readings, Instant now)
      : total_(total), readings_(std::move(readings)), heard_at_(now) {}

  /// The rule counts for the call from now on.
  void begin(PolicyRuleId pid, const NeededRule& rule, Instant now);
  /// Returns whether the rule counts for the call.
  bool has(PolicyRuleId pid) const { return readings_.contains(pid); }
  /// Counts of rules from the middlebox, others than the call's among them. Returns whether it has
  /// been started since the last counts: a tally stored before would not lead to the same total.
  bool note(const agent::RuleTraffics& traffic, Instant now);
  /// The rule counts no longer; its last reading stays in the total.
  void end(PolicyRuleId pid) { readings_.erase(pid); }

  const MediaCount& total() const { return total_; }
  const std::map<PolicyRuleId, Reading>& readings() const { return readings_; }
  /// When the last packet of any medium can have passed, at the latest.
  Instant heard_at() const { return heard_at_; }

 private:
  bool note(Reading& reading, const agent::RuleTraffic& traffic, Instant now);

  MediaCount total_;
  std::map<PolicyRuleId, Reading> readings_;  ///< the last ones
  Instant heard_at_{};
};

}  // namespace simco::ng
