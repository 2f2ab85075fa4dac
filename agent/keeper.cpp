// Asks the RuleKeeper after each event and at its deadline, and passes on its requests and losses.
#include "agent/keeper.hpp"

#include <utility>

#include "agent/driver.hpp"

namespace simco::agent {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

Keeper::Keeper(Driver& driver) : driver_(driver), timer_(driver.executor()) {}

HeldRule Keeper::hold(const KeptRule& rule, Lifetime granted) {
  // A PID that is granted again means that the rule which had it before is gone.
  report(rule.pid, RuleLoss::kNotOurs);
  const std::uint64_t held = ++last_;
  held_[held].pid = rule.pid;
  by_pid_[rule.pid] = held;
  keeper_.keep(rule, granted, Clock::now());
  send_due();
  return {held};
}

std::optional<PolicyRuleId> Keeper::let_go(HeldRule held) {
  const auto found = held_.find(held.value);
  if (found == held_.end()) return std::nullopt;
  Holding holding = std::move(found->second);
  held_.erase(found);
  if (holding.waiting) holding.waiting(AgentError::kTerminated, {});
  if (holding.loss) return std::nullopt;
  by_pid_.erase(holding.pid);
  keeper_.forget(holding.pid);
  send_due();
  return holding.pid;
}

std::optional<HeldRule> Keeper::find(PolicyRuleId pid) const {
  const auto found = by_pid_.find(pid);
  return found == by_pid_.end() ? std::nullopt : std::optional(HeldRule{found->second});
}

void Keeper::lost(HeldRule held, Completion done) {
  const auto found = held_.find(held.value);
  if (found == held_.end()) return done(AgentError::kTerminated, {});
  Holding& holding = found->second;
  if (holding.waiting) return done(AgentError::kOverloaded, {});
  if (holding.loss) return done({}, Outcome{.loss = *holding.loss});
  holding.waiting = std::move(done);
}

void Keeper::on_session_open() {
  keeper_.on_session_open();
  send_due();
}

void Keeper::on_session_end() {
  keeper_.on_session_end();
  send_due();
}

void Keeper::on_rule_event(PolicyRuleId pid, Lifetime lifetime) {
  keeper_.on_rule_event(pid, lifetime, Clock::now());
  send_due();
}

void Keeper::shut_down() {
  timer_.cancel();
  for (auto& [held, holding] : std::exchange(held_, {})) {
    if (holding.waiting) holding.waiting(AgentError::kConnectionLost, {});
  }
  by_pid_.clear();
  keeper_ = RuleKeeper();
}

void Keeper::send_due() {
  if (std::exchange(sending_, true)) return;
  while (const auto request = keeper_.next_request(Clock::now())) send(*request);
  while (const auto loss = keeper_.take_loss()) report(loss->pid, loss->why);
  sending_ = false;
  arm_timer();
}

void Keeper::send(const RuleKeeper::Request& request) {
  driver_.transact(request.body, request.pid,
                   [this, pid = request.pid](const error_code&, const Outcome& outcome) {
                     keeper_.on_end(pid, outcome.body, Clock::now());
                     send_due();
                   });
}

void Keeper::report(PolicyRuleId pid, RuleLoss why) {
  const auto found = by_pid_.find(pid);
  if (found == by_pid_.end()) return;
  Holding& holding = held_.at(found->second);
  by_pid_.erase(found);
  holding.loss = why;
  if (holding.waiting) std::exchange(holding.waiting, nullptr)({}, Outcome{.loss = why});
}

void Keeper::arm_timer() {
  const auto due = keeper_.next_deadline();
  if (!due) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(*due);
  timer_.async_wait([weak = driver_.weak_from_this(), this](const error_code& error) {
    const auto alive = weak.lock();
    if (alive && !error) send_due();
  });
}

}  // namespace simco::agent
