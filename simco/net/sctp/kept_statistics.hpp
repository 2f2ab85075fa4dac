// The figures of an association that a peer or a timer may abort, and that takes them with it.
#pragma once

#include <chrono>

#include "simco/net/message_channel.hpp"
#include "simco/net/sctp/limits.hpp"

namespace simco::net::sctp {

class KeptStatistics {
 public:
  const TransportStatistics& last() const { return last_; }
  void keep(TransportStatistics statistics) { last_ = std::move(statistics); }
  /// True if they are too old, once every kSctpStatisticsAge.
  bool due() {
    const auto now = std::chrono::steady_clock::now();
    if (!last_.empty() && now - kept_at_ < kSctpStatisticsAge) return false;
    kept_at_ = now;
    return true;
  }

 private:
  TransportStatistics last_;
  std::chrono::steady_clock::time_point kept_at_;
};

}  // namespace simco::net::sctp
