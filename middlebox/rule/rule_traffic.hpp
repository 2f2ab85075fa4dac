// Traffic that a rule has let pass, or blocked, as far as a backend counts it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simco/wire/instant.hpp"
#include "simco/wire/packet_count.hpp"

namespace simco::rule {

/// The counts of an internal port.
struct PortCount {
  std::uint16_t port = 0;
  PacketCount count;
};

/// The time of a packet between two readings of a counter: after the first, and until the second.
struct PacketTime {
  Instant after;
  Instant until;
};

/// Both directions together. Counts are of packets that met this rule, not an earlier rule that
/// they match as well.
struct RuleTraffic {
  PacketCount count;
  std::optional<PacketTime> last_packet;  ///< nullopt: none has been seen
  /// Everything since then is counted. Earlier packets may be missing.
  Instant complete_since;
  Instant read_at;               ///< the counters were read then, or later
  std::vector<PortCount> ports;  ///< by internal port, if the rule has few and names them
};

}  // namespace simco::rule
