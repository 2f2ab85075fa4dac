#include "middlebox/throttle.hpp"

#include <algorithm>

#include "middlebox/limits.hpp"

namespace simco::middlebox {

IpAddress Throttle::key_of(const IpAddress& address) {
  return address.version == IpVersion::kIpv4 ? address : masked(address, 64);
}

std::optional<Instant> Throttle::judge_at(const IpAddress& address, Instant now) {
  const auto found = next_.find(key_of(address));
  if (found == next_.end() || found->second <= now) return now;
  if (found->second - now > kAuthenticationWaitMax) return std::nullopt;
  const Instant slot = found->second;
  found->second += kAuthenticationPenalty;
  return slot;
}

Instant Throttle::punish(const IpAddress& address, Instant now) {
  forget(now);
  const auto [entry, is_new] = next_.try_emplace(key_of(address), now);
  if (is_new) order_.push_back(entry->first);
  entry->second = std::max(entry->second, now) + kAuthenticationPenalty;
  return now + kAuthenticationPenalty;
}

// The oldest go first: those whose time is over, and one more where there is no room.
void Throttle::forget(Instant now) {
  while (!order_.empty() && (order_.size() >= kThrottledMax || next_.at(order_.front()) <= now)) {
    next_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace simco::middlebox
