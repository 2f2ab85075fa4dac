// Peers that acknowledge all packets but those that begin a stream: all that follows must be kept
// for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

/// The octets that are kept until the peer has acknowledged them. In packets, octets beyond
/// kUnacknowledgedMax count as output that waits.
class WithheldAcks {
 public:
  void keep(std::size_t octets) { kept_ += octets; }
  void release(std::uint64_t octets) { kept_ -= static_cast<std::size_t>(octets); }
  /// `unsent` of them are in no packet yet.
  std::size_t excess(std::size_t unsent) const {
    const auto in_packets = kept_ - unsent;
    return in_packets - std::min(in_packets, kUnacknowledgedMax);
  }

 private:
  std::size_t kept_ = 0;
};

}  // namespace simco::net::quic
