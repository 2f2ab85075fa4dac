#include "tests/simulator/audience.hpp"

#include "tests/simulator/fault.hpp"
#include "tests/simulator/model.hpp"
#include "tests/simulator/requests.hpp"

namespace simco::simulator {

void Audience::expect(std::uint32_t pid, std::uint32_t lifetime, const std::string& owner,
                      std::uint32_t cause) {
  for (auto& [number, session] : sessions_) {
    const bool hears = session.open && !session.auditor && number != cause;
    if (hears && test::Model::sees(session.who, owner)) ++session.unheard[{pid, lifetime}];
  }
}

void Audience::check() {
  for (auto& [number, session] : sessions_) {
    if (session.closed) session.unheard.clear();
    for (const auto& [event, count] : session.unheard) {
      demand(count <= 0 || session.leaving, session.who + " was not told of " + text(event.first));
      demand(count >= 0, session.who + " was told of " + text(event.first) + " without a reason");
    }
    session.unheard.clear();
  }
}

void Audience::check_stopped() const {
  for (const auto& [number, session] : sessions_) {
    demand(!session.open, session.who + " was not told of the stop");
  }
}

}  // namespace simco::simulator
