// A line exists as long as it has requests. Of disable rules, sessions search in turn, and the
// search of a session that does not take the events of what it has ended is held.
#include "middlebox/commit/request_lines.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/limits.hpp"

namespace simco::middlebox {

void RequestLines::push(Requester& requester, Request request) {
  lines_[&requester].requests.push_back(std::move(request));
}

const RequestLines::Request* RequestLines::front(Requester& requester) const {
  const auto line = lines_.find(&requester);
  return line == lines_.end() ? nullptr : &line->second.requests.front();
}

void RequestLines::pop(Requester& requester) {
  const auto line = lines_.find(&requester);
  line->second.requests.pop_front();
  if (line->second.requests.empty()) lines_.erase(line);
}

Requester* RequestLines::take_waiting(PolicyRuleId pid) {
  const auto waiting = after_rule_.find(pid);
  if (waiting == after_rule_.end()) return nullptr;
  Requester* const first = waiting->second.front();
  waiting->second.pop_front();
  if (waiting->second.empty()) after_rule_.erase(waiting);
  return first;
}

void RequestLines::wait_for_changes(Requester& requester) {
  SIMCO_ASSERT(!all_settled(requester));
  lines_[&requester].for_changes = true;
}

bool RequestLines::waited_for_changes(Requester& requester) {
  const auto line = lines_.find(&requester);
  return line != lines_.end() && std::exchange(line->second.for_changes, false);
}

void WaitingPdrs::add(PolicyRuleId pid, const Pdr& pdr) {
  pdrs_.emplace(pid, pdr);
  auto& searches = sessions_[pdr.requester].searches;
  if (searches.empty()) turns_.push_back(pdr.requester);
  searches.push_back(pid);
}

std::optional<WaitingPdrs::Step> WaitingPdrs::search(Instant now) {
  const auto next = std::ranges::find_if(
      turns_, [&](const Requester* requester) { return held_until(*requester) <= now; });
  if (next == turns_.end()) return std::nullopt;
  Requester* const requester = *next;
  turns_.erase(next);
  auto& [searches, ending] = sessions_.at(requester);
  const auto pid = searches.front();
  const Step step{engine_.end_disabled(pid, kDisableLooksStep, now), pid};
  ending += step.ended;
  if (step.found_all) searches.pop_front();
  if (!searches.empty()) turns_.push_back(requester);
  return step;
}

// Its disable rule is in force, so no packet passes meanwhile. But nothing is held back beyond
// its lifetime, nor while a request of any session waits for it.
Instant WaitingPdrs::held_until(const Requester& requester) const {
  const auto& session = sessions_.at(&requester);
  if (session.ending >= kDisableEndsMax) return Instant::max();
  const auto pid = session.searches.front();
  if (!requester.output_full() || lines_.wait_for_rule(pid)) return {};
  return engine_.expires_at(pid);
}

std::optional<Instant> WaitingPdrs::next_search() const {
  std::optional<Instant> next;
  for (const Requester* requester : turns_) {
    const auto at = held_until(*requester);
    if (at != Instant::max() && (!next || at < *next)) next = at;
  }
  return next;
}

void WaitingPdrs::note_ended(PolicyRuleId pid) {
  const auto pdr = pdrs_.find(pid);
  if (pdr != pdrs_.end()) --sessions_.at(pdr->second.requester).ending;
}

std::optional<WaitingPdrs::Pdr> WaitingPdrs::complete(PolicyRuleId pid) {
  auto completed = pdrs_.extract(pid);
  if (!completed) return std::nullopt;
  const auto session = sessions_.find(completed.mapped().requester);
  const bool done =
      session != sessions_.end() && session->second.searches.empty() && session->second.ending == 0;
  if (done) sessions_.erase(session);
  return std::move(completed.mapped());
}

}  // namespace simco::middlebox
