#include "middlebox/core/notifier.hpp"

#include <algorithm>

#include "simco/wire/assert.hpp"

namespace simco::middlebox {

void Notifier::add(Requester& session) {
  const auto agent = session.agent().value;
  if (agent >= sessions_.size()) sessions_.resize(agent + 1);
  sessions_[agent].push_back(&session);
  ++count_;
}

void Notifier::remove(Requester& session) {
  const auto agent = session.agent().value;
  SIMCO_ASSERT(agent < sessions_.size());
  const auto removed = std::erase(sessions_[agent], &session);
  SIMCO_ASSERT(removed == 1);
  if (sessions_[agent].empty()) sessions_[agent].shrink_to_fit();
  --count_;
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
  // notify() only queues: it never changes the list.
  for (Requester* session : sessions_of(agent)) {
    if (session != cause) session->notify(event);
  }
}

}  // namespace simco::middlebox
