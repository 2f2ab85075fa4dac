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
  if (next_.size() >= kThrottledMax) make_room(now);
  Instant& next = next_[key_of(address)];
  next = std::max(next, now) + kAuthenticationPenalty;
  return now + kAuthenticationPenalty;
}

void Throttle::make_room(Instant now) {
  std::erase_if(next_, [&](const auto& entry) { return entry.second <= now; });
  if (next_.size() >= kThrottledMax) next_.erase(next_.begin());
}

}  // namespace simco::middlebox
