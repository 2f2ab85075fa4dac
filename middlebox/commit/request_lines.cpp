// A line exists as long as it has requests.
#include "middlebox/commit/request_lines.hpp"

#include <utility>

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

}  // namespace simco::middlebox
