// The times at which connections want to be woken.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "simco/wire/instant.hpp"

namespace simco::middlebox {

/// At most one time for each connection, by its number.
class WakeTimes {
 public:
  /// Only moves a time earlier: waking up too soon is harmless.
  void add(std::uint64_t number, Instant at) {
    const auto [wish, is_new] = wishes_.try_emplace(number, at);
    if (!is_new && wish->second <= at) return;
    if (!is_new) order_.erase({wish->second, number});
    wish->second = at;
    order_.emplace(at, number);
  }
  /// Nothing happens if there is none.
  void remove(std::uint64_t number) {
    const auto wish = wishes_.extract(number);
    if (wish) order_.erase({wish.mapped(), number});
  }
  std::optional<Instant> next() const {
    return order_.empty() ? std::nullopt : std::optional(order_.begin()->first);
  }
  /// Returns a connection whose time has come, and removes that time.
  std::optional<std::uint64_t> take_due(Instant now) {
    if (order_.empty() || order_.begin()->first > now) return std::nullopt;
    const auto number = order_.begin()->second;
    remove(number);
    return number;
  }

 private:
  std::unordered_map<std::uint64_t, Instant> wishes_;
  std::set<std::pair<Instant, std::uint64_t>> order_;
};

}  // namespace simco::middlebox
