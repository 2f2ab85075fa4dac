#include "agent/ng/call/tally.hpp"

#include <algorithm>

namespace simco::ng {
namespace {

/// The kernel counts packets as IP has them, rtpengine as UDP has them.
PacketCount without_headers(const PacketCount& count, IpVersion version) {
  const auto headers = count.packets * (version == IpVersion::kIpv4 ? 28U : 48U);
  return {count.packets, count.octets - std::min(count.octets, headers)};
}

MediaCount count_of(const agent::RuleTraffic& traffic, const Tally::Reading& reading) {
  PacketCount rtcp;
  for (const auto& [port, count] : traffic.ports) {
    if (port == reading.rtcp_port) rtcp += count;
  }
  const PacketCount rtp{traffic.count.packets - rtcp.packets, traffic.count.octets - rtcp.octets};
  return {without_headers(rtp, reading.version), without_headers(rtcp, reading.version)};
}

void add_difference(PacketCount& total, const PacketCount& now, const PacketCount& before) {
  total.packets += now.packets - std::min(now.packets, before.packets);
  total.octets += now.octets - std::min(now.octets, before.octets);
}

}  // namespace

void Tally::begin(PolicyRuleId pid, const NeededRule& rule, Instant now) {
  readings_[pid] = {rule.internal.address.version, rule.rtcp_port, std::nullopt, {}};
  heard_at_ = std::max(heard_at_, now);
}

bool Tally::note(const agent::RuleTraffics& traffic, Instant now) {
  bool restarted = false;
  for (auto& [pid, reading] : readings_) {
    const auto found = traffic.find(pid);
    if (found != traffic.end()) restarted |= note(reading, found->second, now);
  }
  return restarted;
}

bool Tally::note(Reading& reading, const agent::RuleTraffic& traffic, Instant now) {
  const bool restarted = reading.run && reading.run != traffic.run;
  if (restarted) reading.count = {};
  const auto count = count_of(traffic, reading);
  add_difference(total_.rtp, count.rtp, reading.count.rtp);
  add_difference(total_.rtcp, count.rtcp, reading.count.rtcp);
  reading.count = count;
  reading.run = traffic.run;
  heard_at_ = std::max(heard_at_, now - traffic.complete);
  if (traffic.last_packet) heard_at_ = std::max(heard_at_, now - traffic.last_packet->until);
  return restarted;
}

}  // namespace simco::ng
