#include "loadgen/sip/client_transactions.hpp"

#include <algorithm>

namespace simco::loadgen::sip {

void ClientTransactions::start(std::uint32_t number, Time now) {
  Transaction transaction{.due = {}, .timer_b = now + kTimerBInT1 * t1_, .interval = t1_};
  transaction.due = reliable_ ? transaction.timer_b : now + t1_;
  if (open_.emplace(number, transaction).second) deadlines_.emplace(transaction.due, number);
}

void ClientTransactions::stop_timers(std::uint32_t number, const Transaction& transaction) {
  if (!transaction.proceeding) deadlines_.erase({transaction.due, number});
}

bool ClientTransactions::proceed(std::uint32_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return false;
  stop_timers(number, found->second);
  found->second.proceeding = true;
  return true;
}

bool ClientTransactions::end(std::uint32_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return false;
  stop_timers(number, found->second);
  open_.erase(found);
  return true;
}

std::optional<ClientTransactions::Due> ClientTransactions::take_due(Time now) {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return std::nullopt;
  const auto number = deadlines_.begin()->second;
  deadlines_.erase(deadlines_.begin());
  const auto found = open_.find(number);
  Transaction& transaction = found->second;
  if (transaction.due >= transaction.timer_b) {
    open_.erase(found);
    return Due{number, true};
  }
  // From when it was due, so that a late call does not shift those that follow.
  ++retransmissions_;
  if (transaction.interval > t1_) ++further_;
  transaction.interval *= 2;
  transaction.due = std::min(transaction.due + transaction.interval, transaction.timer_b);
  deadlines_.emplace(transaction.due, number);
  return Due{number, false};
}

std::optional<Time> ClientTransactions::next() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace simco::loadgen::sip
