#include "middlebox/core/notifier.hpp"

#include <algorithm>

#include "simco/wire/assert.hpp"

namespace simco::middlebox {

void Notifier::add(Requester& session) {
  sessions_[session.agent()].push_back(&session);
  ++count_;
}

void Notifier::remove(Requester& session) {
  const auto found = sessions_.find(session.agent());
  SIMCO_ASSERT(found != sessions_.end());
  const auto removed = std::erase(found->second, &session);
  SIMCO_ASSERT(removed == 1);
  if (found->second.empty()) sessions_.erase(found);
  --count_;
}

std::size_t Notifier::count(rule::AgentId agent) const {
  const auto found = sessions_.find(agent);
  return found == sessions_.end() ? 0 : found->second.size();
}

std::size_t Notifier::audience(rule::AgentId owner) const {
  std::size_t result = count(owner);
  for (const auto watcher : engine_.watchers()) {
    if (watcher != owner && engine_.may_see(watcher, owner)) result += count(watcher);
  }
  return result;
}

void Notifier::notify(const policy::RuleEvent& event, const Requester* cause) const {
  notify_agent(event.owner, event, cause);
  for (const auto watcher : engine_.watchers()) {
    if (watcher != event.owner && engine_.may_see(watcher, event.owner)) {
      notify_agent(watcher, event, cause);
    }
  }
}

void Notifier::notify_agent(rule::AgentId agent, const policy::RuleEvent& event,
                            const Requester* cause) const {
  const auto found = sessions_.find(agent);
  if (found == sessions_.end()) return;
  // notify() only queues: it never changes the list.
  for (Requester* session : found->second) {
    if (session != cause) session->notify(event);
  }
}

}  // namespace simco::middlebox
