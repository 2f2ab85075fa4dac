#include "tests/simulator/life.hpp"

#include <chrono>

#include "tests/simulator/fault.hpp"

namespace simco::simulator {

using namespace std::chrono_literals;

Life::Life(const middlebox::CoreOptions& options, test::VirtualTime& time, const WallClock& wall,
           Random& random, SimBackend& backend, SimStore* store, bool stands_by)
    : time_(time),
      random_(random),
      clock_(time, wall),
      store_(store),
      backend_(backend),
      core_(options, clock_, backend, make_journal(store), nullptr, *this) {
  if (store == nullptr) {
    core_.start();
  } else {
    if (!stands_by) access_->claim();
    auto contents = store->contents();
    contents.owned = !stands_by;
    for (const auto& entry : contents.entries) heard_[entry.pid.value] = entry.octets;
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
  if (next.all) heard_.clear();
  for (const auto& [pid, octets] : next.entries) {
    if (octets.empty()) {
      heard_.erase(pid.value);
    } else {
      heard_[pid.value] = octets;
    }
  }
  core_.follow({std::move(next), false}, [this](bool alike) {
    if (!alike) return;
    // Turns must not be left by an exception.
    try {
      judge_alike();
    } catch (const Fault& fault) {
      time_.after({}, [fault] { throw fault; });
    }
  });
}

void Life::judge_alike() const {
  const auto due = [this](Instant end) { return end < time_.now() + 100ms; };
  const auto& table = backend_.table();
  for (const auto& [pid, enforced] : table) {
    demand(due(enforced.rule.expires_at) || heard_.contains(pid),
           "a box with a lease enforces rule " + std::to_string(pid));
  }
  for (const auto& [pid, octets] : heard_) {
    const auto kept = middlebox::decode_rule({pid}, octets);
    const auto left = middlebox::time_left(*kept, clock_.wall_ms());
    if (left < 100ms) continue;
    const auto found = table.find(pid);
    demand(found != table.end(), "a box with a lease lacks rule " + std::to_string(pid));
    const auto& rule = found->second.rule;
    const auto later = rule.expires_at - (time_.now() + left);
    demand(rule.kind == kept->rule.kind && std::chrono::abs(later) <= 100ms,
           "a box with a lease has another rule " + std::to_string(pid) + ", which ends " +
               std::to_string(later / 1ms) + " ms later");
  }
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
