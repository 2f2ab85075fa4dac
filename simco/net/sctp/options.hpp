// The settings of SCTP.
#pragma once

#include <chrono>
#include <cstdint>

namespace simco::net {

/// Whose SCTP.
enum class SctpStack : std::uint8_t {
  kAuto,      ///< the kernel's if it has SCTP, otherwise userland
  kKernel,    ///< the kernel's (lksctp)
  kUserland,  ///< usrsctp, in this process
};

/// Which stream's message goes next if several wait in the stack (RFC 8260 section 3).
enum class SctpScheduler : std::uint8_t { kFirstCome, kRoundRobin };

/// Everything about an SCTP association that can be chosen. The defaults of values that the RFC
/// leaves open suit short messages whose latency counts; doc/sctp.md has the reasons.
struct SctpOptions {
  SctpStack stack = SctpStack::kAuto;
  /// Streams offered, and accepted at most, in each direction; at least 1. The negotiated numbers
  /// are the channel's outbound_streams() and inbound_streams().
  std::uint16_t streams = 16;
  /// UDP port of the encapsulation (RFC 6951): the middlebox's own, and for an agent the remote
  /// port. 0: SCTP directly over IP, which takes CAP_NET_RAW with the userland stack.
  std::uint16_t udp_encaps = 9899;
  /// The kernel's SCTP is encapsulated, too. It uses the UDP port of the sysctl net.sctp.udp_port.
  bool kernel_encaps = false;
  std::chrono::milliseconds rto_initial{500};  ///< RTO.Initial
  std::chrono::milliseconds rto_min{25};       ///< RTO.Min
  std::chrono::milliseconds rto_max{60'000};   ///< RTO.Max
  std::chrono::milliseconds sack_delay{10};  ///< longest delay of a SACK; below the peer's RTO.Min
  /// Messages of a thin flow carry the I bit (RFC 7053): the peer does not delay their SACK,
  /// whatever its own settings are. Without it a low RTO.Min would let the timer expire needlessly.
  bool i_bit = true;
  std::chrono::milliseconds heartbeat{5'000};  ///< HB.interval; 0: no heartbeats
  SctpScheduler scheduler = SctpScheduler::kFirstCome;
  /// Send and receive buffer of an association, octets; 0: the stack's own (limits.hpp).
  std::uint32_t buffer = 0;
};

}  // namespace simco::net
