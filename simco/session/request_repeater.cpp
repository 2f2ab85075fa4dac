// Requests in the order in which they were sent: the first one is due first, because all wait for
// the same number of round trips.
#include "simco/session/request_repeater.hpp"

#include <algorithm>

#include "simco/session/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco {

RequestRepeater::RequestRepeater(double factor, std::uint16_t streams)
    : factor_(factor),
      streams_(streams),
      unanswered_on_(streams),
      allowance_(kRepeatBurst * kRequestsPerRepeat) {
  SIMCO_ASSERT(factor > 1 && streams > 0);
}

void RequestRepeater::sent(TransactionId tid, std::span<const std::byte> request, bool about_rule,
                           Instant now) {
  if (stopped_) return;
  if (unanswered_.size() >= kRepeaterRequestsMax) return stop();
  allowance_ = std::min(allowance_ + 1, kRepeatBurst * kRequestsPerRepeat);
  const bool alone = unanswered_on_[stream_of(tid)]++ == 0;
  const bool repeatable =
      streams_ > 1 && request.size() <= kRepeatableMax && (alone || !about_rule);
  Unanswered waiting{{}, now, false};
  if (repeatable) waiting.request.assign(request.begin(), request.end());
  unanswered_.emplace(tid, std::move(waiting));
  if (repeatable) order_.push_back(tid);
}

RequestRepeater::Answer RequestRepeater::replied(TransactionId tid,
                                                 std::optional<PolicyRuleId> made, Instant now) {
  const auto found = unanswered_.find(tid);
  if (found == unanswered_.end()) return replied_again(tid, made);
  const bool repeated = found->second.repeated;
  if (!repeated) measure(now - found->second.sent);
  unanswered_.erase(found);
  --unanswered_on_[stream_of(tid)];
  if (repeated) watch(tid, made);
  tidy();
  return {};
}

RequestRepeater::Answer RequestRepeater::replied_again(TransactionId tid,
                                                       std::optional<PolicyRuleId> made) {
  const auto found = answered_once_.find(tid);
  if (found == answered_once_.end()) return {};  // not a reply to a request that is known
  const auto first = found->second;
  answered_once_.erase(found);
  if (!made || made == first) return {.first = false};
  ++strays_;
  stop();
  return {.first = false, .stray = made};
}

void RequestRepeater::stop() {
  stopped_ = true;
  order_.clear();
}

void RequestRepeater::watch(TransactionId tid, std::optional<PolicyRuleId> made) {
  answered_once_.emplace(tid, made);
  watched_.push_back(tid);
  if (watched_.size() <= kRepeatsWatchedMax) return;
  answered_once_.erase(watched_.front());
  watched_.pop_front();
}

void RequestRepeater::measure(Instant::duration round_trip) {
  round_trip_ = round_trip_ ? *round_trip_ + (round_trip - *round_trip_) / 8 : round_trip;
}

std::optional<Instant> RequestRepeater::next() const {
  if (order_.empty() || !round_trip_) return std::nullopt;
  const auto wait = std::chrono::duration_cast<Instant::duration>(*round_trip_ * factor_);
  return unanswered_.at(order_.front()).sent + std::max<Instant::duration>(wait, kRepeatAfterMin);
}

std::optional<RequestRepeater::Due> RequestRepeater::take_due(Instant now) {
  for (auto due = next(); due && *due <= now; due = next()) {
    const auto tid = order_.front();
    order_.pop_front();
    auto& waiting = unanswered_.at(tid);
    tidy();
    if (allowance_ < kRequestsPerRepeat) continue;
    allowance_ -= kRequestsPerRepeat;
    waiting.repeated = true;
    ++repeated_;
    const auto stream = (stream_of(tid) + std::max(1U, streams_ / 2)) % streams_;
    return Due{waiting.request, static_cast<std::uint16_t>(stream)};
  }
  return std::nullopt;
}

void RequestRepeater::tidy() {
  while (!order_.empty() && !unanswered_.contains(order_.front())) order_.pop_front();
}

}  // namespace simco
