// Slows down the guessing of secrets: after a wrong token, further tokens for that name from that
// source are verified only after a back-off, and the refusal itself is delayed. The back-off does
// not grow with the number of wrong tokens, so a right one never waits longer than that.
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

/// The back-offs under way. Not thread-safe.
class AuthBackoff {
 public:
  /// `pause`: see kAuthenticationPenalty.
  explicit AuthBackoff(std::chrono::seconds pause = kAuthenticationPenalty) : pause_(pause) {}

  /// Returns when a token for `name` from `address` that arrived now may be verified.
  Instant not_before(const IpAddress& address, std::string_view name, Instant now) const;
  /// A token for `name` from `address` was wrong. Returns when to send the refusal.
  Instant failed(const IpAddress& address, std::string_view name, Instant now);
  /// A token for `name` from `address` was right: further ones are verified at once.
  void succeeded(const IpAddress& address, std::string_view name);

  std::size_t size() const { return pauses_.size(); }
  std::size_t trusted() const { return trusted_.size(); }

 private:
  /// Source and a hash of the name. Another name with the same hash can only cause a back-off.
  using Key = std::pair<IpAddress, std::size_t>;
  static Key key_of(const IpAddress& address, std::string_view name);
  void forget(Instant now);

  std::chrono::seconds pause_;
  std::map<Key, Instant> pauses_;  ///< ends of back-offs
  std::deque<Key> order_;          ///< the same keys, in order of arrival
  std::set<Key> trusted_;
  std::deque<Key> trusted_order_;
};

}  // namespace simco::middlebox
