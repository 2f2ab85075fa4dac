// Makes guessing secrets slow: after a wrong token, the tokens for that name from that source wait
// for the end of a pause before they are judged, and the answer itself is late. The pause has one
// length, however many wrong tokens come: a right one never waits longer than that.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "middlebox/limits.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/ip.hpp"

namespace simco::middlebox {

class AuthBackoff {
 public:
  /// `pause`: see kAuthenticationPenalty.
  explicit AuthBackoff(std::chrono::seconds pause = kAuthenticationPenalty) : pause_(pause) {}

  /// When a token for `name` from `address` that has come now may be verified.
  Instant not_before(const IpAddress& address, std::string_view name, Instant now) const;
  /// A token for `name` from `address` was wrong. Returns when to tell.
  Instant failed(const IpAddress& address, std::string_view name, Instant now);
  /// A token for `name` from `address` was right: further ones of it are judged at once.
  void succeeded(const IpAddress& address, std::string_view name);

  std::size_t size() const { return pauses_.size(); }
  std::size_t trusted() const { return trusted_.size(); }

 private:
  /// Source and a hash of the name: who finds another name with the same hash can cause a pause,
  /// and no more.
  using Key = std::pair<IpAddress, std::size_t>;
  static Key key_of(const IpAddress& address, std::string_view name);
  void forget(Instant now);

  std::chrono::seconds pause_;
  std::map<Key, Instant> pauses_;  ///< ends of pauses
  std::deque<Key> order_;          ///< the same keys, as they came
  std::set<Key> trusted_;
  std::deque<Key> trusted_order_;
};

}  // namespace simco::middlebox
