// Makes guessing secrets slow: after a wrong token, the tokens from that address are judged one by
// one with a pause in between, and the answer itself is late.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

#include "simco/wire/instant.hpp"
#include "simco/wire/ip.hpp"

namespace simco::middlebox {

class Throttle {
 public:
  /// When a token from `address` that has come now may be judged; nothing where so many wait
  /// already that it is to be refused without a look.
  std::optional<Instant> judge_at(const IpAddress& address, Instant now);
  /// A token from `address` was wrong. Answers when to tell.
  Instant punish(const IpAddress& address, Instant now);

  std::size_t size() const { return next_.size(); }

 private:
  /// An IPv6 host has a whole /64 to choose its addresses from.
  static IpAddress key_of(const IpAddress& address);
  void forget(Instant now);

  /// When the next token may be judged, for addresses that have sent a wrong one lately.
  std::map<IpAddress, Instant> next_;
  std::deque<IpAddress> order_;  ///< the same addresses, as they came
};

}  // namespace simco::middlebox
