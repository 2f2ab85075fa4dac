// How many packets a packet filter has dropped, and why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace simco::rule {

/// Why a packet was dropped.
enum class DropReason : std::uint8_t {
  kNoRule,        ///< no enable rule allows it
  kDisableRule,   ///< a disable rule blocks it
  kForgedSource,  ///< from outside, with a source that no route expects there
  kNoBinding,     ///< NAT: to or from an address or port that is not translated
};
inline constexpr std::size_t kDropReasons = 4;

/// Numbers of packets by reason.
using DropCounts = std::array<std::uint64_t, kDropReasons>;

/// Packets that were dropped, by the way they travelled.
struct DroppedPackets {
  DropCounts inbound{};
  DropCounts outbound{};

  DroppedPackets& operator+=(const DroppedPackets& more) {
    for (std::size_t i = 0; i < kDropReasons; ++i) {
      inbound[i] += more.inbound[i];
      outbound[i] += more.outbound[i];
    }
    return *this;
  }
};

}  // namespace simco::rule
