// The value of a counter of packets.
#pragma once

#include <cstdint>

namespace simco {

/// Packets, and their octets from the IP header on.
struct PacketCount {
  std::uint64_t packets = 0;
  std::uint64_t octets = 0;

  PacketCount& operator+=(const PacketCount& more) {
    packets += more.packets;
    octets += more.octets;
    return *this;
  }
  friend bool operator==(const PacketCount&, const PacketCount&) = default;
};

}  // namespace simco
