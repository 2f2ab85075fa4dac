// Thin flows: a peer delays the SACK of a packet until a second one comes, which in a thin flow
// does not.
#pragma once

#include <chrono>
#include <utility>

#include "simco/net/sctp/limits.hpp"

namespace simco::net::sctp {

/// Decides which messages ask for their SACK at once (the I bit, RFC 7053).
class ThinFlow {
 public:
  explicit ThinFlow(bool asks) : asks_(asks) {}

  /// In a fast flow every second packet has its SACK at once anyway. `more`: others follow now.
  bool ask(bool more) {
    if (!asks_ || more) return false;
    const auto now = std::chrono::steady_clock::now();
    return now - std::exchange(last_sent_, now) >= kSctpThinFlowGap;
  }

 private:
  bool asks_;
  std::chrono::steady_clock::time_point last_sent_;
};

}  // namespace simco::net::sctp
