// The settings of QUIC.
#pragma once

#include <chrono>
#include <cstdint>

namespace simco::net {

/// How the amount of data under way is chosen.
enum class QuicCongestion : std::uint8_t {
  kBbr,    ///< from the delivery rate and the round-trip time (BBR)
  kCubic,  ///< CUBIC, RFC 9438: halves at a loss, and grows only while it is used to the full
};

/// Everything about a QUIC connection that can be chosen. The defaults are set for short messages
/// whose latency counts; doc/quic.md has the reasons.
struct QuicOptions {
  /// Streams offered, and accepted at most, in each direction; at least 1. The negotiated numbers
  /// are the channel's outbound_streams() and inbound_streams().
  std::uint16_t streams = 16;
  QuicCongestion congestion = QuicCongestion::kBbr;
  /// Longest delay of an acknowledgement (max_ack_delay, RFC 9000 18.2); 0: none is delayed.
  std::chrono::milliseconds ack_delay{0};
  /// Round-trip time assumed until it is known (kInitialRtt, RFC 9002 6.2.2).
  std::chrono::milliseconds initial_rtt{100};
  /// A connection on which nothing has arrived for so long is over (RFC 9000 10.1); the shorter one
  /// of both ends counts.
  std::chrono::milliseconds idle_timeout{30'000};
  /// An agent sends a PING after so long without packets; 0: none.
  std::chrono::milliseconds keep_alive{5'000};
};

}  // namespace simco::net
