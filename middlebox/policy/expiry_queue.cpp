#include "middlebox/policy/expiry_queue.hpp"

#include "middlebox/policy/limits.hpp"

namespace simco::policy {
namespace {
constexpr std::int64_t kTickNs = std::chrono::nanoseconds(kExpiryTick).count();
}  // namespace

// The first tick at or after the expires_at: late by less than a tick, never early.
ExpiryQueue::Tick ExpiryQueue::tick_of(Instant expires_at) {
  return (expires_at.time_since_epoch().count() + kTickNs - 1) / kTickNs;
}

Instant ExpiryQueue::start_of(Tick tick) {
  return Instant(std::chrono::nanoseconds(tick * kTickNs));
}

void ExpiryQueue::add(RuleSlot slot) { add_at(tick_of(rules_[slot].expires_at), slot); }

void ExpiryQueue::add_ended(RuleSlot slot, Instant now) {
  rules_[slot].expires_at = now - kExpiryTick;
  add(slot);
}

void ExpiryQueue::add_again(RuleSlot slot, Instant retry_at) {
  const Tick tick = tick_of(retry_at);
  again_[slot] = tick;
  add_at(tick, slot);
}

void ExpiryQueue::add_at(Tick tick, RuleSlot slot) {
  if (latest_ == ticks_.end() || latest_->first != tick) latest_ = ticks_.try_emplace(tick).first;
  append<&Rule::by_expiry>(rules_, latest_->second, slot);
  ++size_;
}

void ExpiryQueue::remove(RuleSlot slot) {
  Tick tick = tick_of(rules_[slot].expires_at);
  if (!again_.empty()) {
    if (const auto again = again_.extract(slot)) tick = again.mapped();
  }
  const auto list = ticks_.find(tick);
  SIMCO_ASSERT(list != ticks_.end() && size_ > 0);
  --size_;
  unlink<&Rule::by_expiry>(rules_, list->second, slot);
  if (!list->second.empty()) return;
  if (latest_ == list) latest_ = ticks_.end();
  ticks_.erase(list);
}

std::optional<Instant> ExpiryQueue::next() const {
  if (ticks_.empty()) return std::nullopt;
  return start_of(ticks_.begin()->first);
}

RuleSlot ExpiryQueue::due(Instant now) const {
  if (ticks_.empty() || start_of(ticks_.begin()->first) > now) return kNoSlot;
  return ticks_.begin()->second.first;
}

}  // namespace simco::policy
