// Flushes connections, ends old sessions, and destroys what has ended.
#include "middlebox/core/connections.hpp"

#include <algorithm>

#include "middlebox/limits.hpp"
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

// Flushing may give others something to send.
void Connections::flush() {
  for (std::size_t i = 0; i < to_flush_.size(); ++i) to_flush_[i]->flush();
  to_flush_.clear();
}

void Connections::note_opened(const Connection& connection) {
  connections_.at(connection.number()).opened_at = engine_.id_position();
}

void Connections::begin_age_checks(Instant now) { check_ages_at_ = now + kSessionAgeCheck; }

void Connections::check_ages(Instant now) {
  for (const auto& [number, entry] : connections_) {
    if (entry.connection->state() == SessionState::kOpen &&
        !engine_.session_young_enough(entry.opened_at)) {
      entry.connection->terminate();
    }
  }
  begin_age_checks(now);
}

bool Connections::can_reap() const {
  return std::ranges::any_of(over_, [](const auto* connection) { return connection->idle(); });
}

void Connections::reap() {
  std::erase_if(over_, [this](Connection* connection) {
    if (!connection->idle()) return false;
    const auto agent = connection->session_agent();
    connections_.erase(connection->number());
    if (agent) engine_.release(*agent);
    return true;
  });
}

}  // namespace simco::middlebox
