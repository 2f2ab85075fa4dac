#include "tests/simulator/life.hpp"

namespace simco::simulator {

Life::Life(const middlebox::CoreOptions& options, test::VirtualTime& time, const WallClock& wall,
           Random& random, SimBackend& backend, SimStore* store, bool stands_by)
    : time_(time),
      random_(random),
      clock_(time, wall),
      store_(store),
      core_(options, clock_, backend, make_journal(store), nullptr, *this) {
  if (store == nullptr) {
    core_.start();
  } else {
    if (!stands_by) access_->claim();
    auto contents = store->contents();
    contents.owned = !stands_by;
    core_.start(contents, "the simulated store");
  }
  if (stands_by) follow();
}

Life::~Life() {
  if (core_.following()) store_->follow(nullptr);
}

void Life::follow() {
  store_->follow([this](const store::Batch& batch) {
    unheard_.push_back(batch);
    time_.after(random_.up_to_ms(40), [this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) deliver();
    });
  });
}

void Life::deliver() {
  if (unheard_.empty() || !core_.following()) return;
  store::Batch next = std::move(unheard_.front());
  unheard_.pop_front();
  if (random_.one_in(30)) {
    auto contents = store_->contents();
    next = {std::move(contents.entries), contents.counters, true};
    unheard_.clear();
  }
  core_.follow({std::move(next), false}, nullptr);
}

void Life::take_over(std::function<void()> taken) {
  taken_ = std::move(taken);
  access_->claim();
  store_->follow(nullptr);
  while (!unheard_.empty()) deliver();
  core_.follow({.batch = {}, .owned = true}, nullptr);
}

middlebox::Journal* Life::make_journal(SimStore* store) {
  if (store == nullptr) return nullptr;
  Monitor& monitor = *this;
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
