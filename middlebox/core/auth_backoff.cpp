#include "middlebox/core/auth_backoff.hpp"

#include <algorithm>
#include <functional>

#include "simco/net/crowd.hpp"

namespace simco::middlebox {

AuthBackoff::Key AuthBackoff::key_of(const IpAddress& address, std::string_view name) {
  return {net::source_of(address), std::hash<std::string_view>{}(name)};
}

Instant AuthBackoff::not_before(const IpAddress& address, std::string_view name,
                                Instant now) const {
  const auto key = key_of(address, name);
  const auto found = pauses_.find(key);
  if (found == pauses_.end() || trusted_.contains(key)) return now;
  return std::max(found->second, now);
}

Instant AuthBackoff::failed(const IpAddress& address, std::string_view name, Instant now) {
  forget(now);
  const auto key = key_of(address, name);
  const Instant until = now + pause_;
  if (pauses_.insert_or_assign(key, until).second) order_.push_back(key);
  return until;
}

void AuthBackoff::succeeded(const IpAddress& address, std::string_view name) {
  const auto key = key_of(address, name);
  if (!trusted_.insert(key).second) return;
  trusted_order_.push_back(key);
  if (trusted_order_.size() <= kAuthTrustedMax) return;
  trusted_.erase(trusted_order_.front());
  trusted_order_.pop_front();
}

// Removes expired entries, oldest first, and one more if the table is full.
void AuthBackoff::forget(Instant now) {
  while (!order_.empty() &&
         (order_.size() >= kAuthPausesMax || pauses_.at(order_.front()) <= now)) {
    pauses_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace simco::middlebox
