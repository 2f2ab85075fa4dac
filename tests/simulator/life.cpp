#include "tests/simulator/life.hpp"

namespace simco::simulator {

Life::Life(const middlebox::CoreOptions& options, test::VirtualTime& time, const WallClock& wall,
           Random& random, SimBackend& backend, SimStore* store)
    : time_(time),
      random_(random),
      clock_(time, wall),
      core_(options, clock_, backend, make_journal(store), nullptr, *this) {
  if (store == nullptr) {
    core_.start();
  } else {
    core_.start(store->contents(), "the simulated store");
  }
}

middlebox::Journal* Life::make_journal(SimStore* store) {
  if (store == nullptr) return nullptr;
  Monitor& monitor = *this;
  store->claim();
  access_.emplace(*store);
  return &journal_.emplace(*access_, clock_, monitor);
}

void Life::wake_at(Instant at) {
  time_.at(at, [this, wish = ++wishes_, alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && wish == wishes_) core_.on_deadline();
  });
}

ChallengeOctets Life::make_challenge() {
  ChallengeOctets result;
  for (auto& octet : result) octet = static_cast<std::byte>(random_.below(256));
  return result;
}

void Life::log(middlebox::Core::LogLevel, const std::string& line) { last_line_ = line; }

}  // namespace simco::simulator
