// The calls by call-id, and by when something of them is due.
#include "agent/ng/call/calls.hpp"

#include <algorithm>

#include "agent/ng/call/limits.hpp"

namespace simco::ng {

Instant CallState::next_due() const {
  auto result = operation ? Instant::max() : call.ends_at;
  const auto by = [&](Instant at) { result = std::min(result, at); };
  for (const auto& offer : call.offers) {
    if (!operation && !offer.answered) by(offer.made_at + kOfferPatience);
  }
  if (operation && !operation->asked.replied) by(operation->asked.since.instant + kReplyPatience);
  for (const auto& asked : waiting) {
    if (!asked.replied) by(asked.since.instant + kReplyPatience);
  }
  return result;
}

CallState& Calls::restore(Call call) {
  auto& state = calls_[call.id];
  state.call = std::move(call);
  return state;
}

CallState& Calls::begin(const std::string& call_id, Moment now, std::chrono::seconds duration_max) {
  ++begun_;
  auto& state = calls_[call_id];
  state.call.id = call_id;
  state.call.created = now.wall;
  state.call.ends_at = now.instant + duration_max;
  return state;
}

void Calls::end(CallState& state) {
  host_.on_ended(state.call.id);
  if (state.due) due_.erase({*state.due, state.call.id});
  calls_.erase(calls_.find(state.call.id));
}

CallState* Calls::find(const std::string& call_id) {
  const auto found = calls_.find(call_id);
  return found == calls_.end() ? nullptr : &found->second;
}

std::vector<std::string> Calls::ids(std::size_t limit) const {
  std::vector<std::string> result;
  for (const auto& [id, state] : calls_) {
    if (result.size() >= limit) break;
    result.push_back(id);
  }
  return result;
}

void Calls::tell_changed(CallState& state) {
  if (std::exchange(state.changed, false)) host_.on_changed(state.call);
}

void Calls::schedule(CallState& state) {
  const auto due = state.next_due();
  if (state.due == due) return;
  if (state.due) due_.erase({*state.due, state.call.id});
  state.due = due;
  due_.emplace(due, state.call.id);
}

CallState* Calls::first_due(Instant now) {
  if (due_.empty() || due_.begin()->first > now) return nullptr;
  return &calls_.at(due_.begin()->second);
}

std::optional<Instant> Calls::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace simco::ng
