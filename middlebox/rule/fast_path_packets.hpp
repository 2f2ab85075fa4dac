// How many packets a fast path has met, and what became of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace simco::rule {

/// What became of a packet of a rule that a fast path knows.
enum class FastPathWay : std::uint8_t {
  kForwarded,   ///< it went past the kernel's stack
  kShown,       ///< to the stack, once in a while, so that the kernel knows of the flow
  kUnfinished,  ///< to the stack, since a sender on this machine has left the checksum open
  kNoWay,       ///< to the stack, since no neighbour on the other interface is known for it
};
inline constexpr std::size_t kFastPathWays = 4;

struct FastPathPackets {
  std::array<std::uint64_t, kFastPathWays> packets{};  ///< by way, since the start
  std::uint64_t octets = 0;  ///< of those that were forwarded, from the IP header on
};

}  // namespace simco::rule
