// Flushes connections, ends old sessions, and destroys what has ended.
#include "middlebox/core/connections.hpp"

#include <algorithm>

#include "middlebox/limits.hpp"

namespace simco::middlebox {

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
