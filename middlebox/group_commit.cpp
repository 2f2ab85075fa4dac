#include "middlebox/group_commit.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/limits.hpp"
#include "middlebox/metrics.hpp"

namespace simco::middlebox {

using backend::ChangeResult;
using policy::PolicyEngine;

void GroupCommit::submit(Requester& requester, TransactionId tid, const Body& request) {
  Entry entry{&requester, tid, {}};
  if (decide(entry, request) != PolicyEngine::Verdict::kWait) return;
  // Only requests without variable parts can wait, so that the copy borrows nothing.
  waiting_[entry.change.slot].push_back({&requester, tid, request});
}

PolicyEngine::Verdict GroupCommit::decide(Entry& entry, const Body& request) {
  Body reply;
  const policy::Asker asker{entry.requester->agent(), entry.tid, entry.requester->lifetime_max_s()};
  const auto began = metrics_ == nullptr ? Instant{} : Metrics::Clock::now();
  const auto verdict = engine_.plan(asker, request, observer_.now(), reply, entry.change);
  if (metrics_ != nullptr) {
    entry.transaction = policy::transaction_of(request).value_or(policy::Transaction{});
    entry.planned_at = Metrics::Clock::now();
    metrics_->took(Phase::kDecide, entry.planned_at - began);
  }
  if (verdict == PolicyEngine::Verdict::kReplied) {
    answer(*entry.requester, entry.tid, entry.transaction, reply);
  }
  if (verdict == PolicyEngine::Verdict::kPlanned) gathered_.push_back(entry);
  return verdict;
}

void GroupCommit::answer(Requester& requester, TransactionId tid, policy::Transaction transaction,
                         const Body& reply) {
  if (metrics_ != nullptr) metrics_->replied(transaction, reply);
  requester.reply(tid, reply);
}

void GroupCommit::expire() {
  expired_.clear();
  engine_.plan_expiry(observer_.now(), expired_);
  for (const auto& change : expired_) gathered_.push_back({nullptr, {}, change});
}

void GroupCommit::dispatch() {
  // The backend may answer from inside apply(): then the loop goes on here, not deeper.
  if (dispatching_) return;
  dispatching_ = true;
  while (!busy_ && !gathered_.empty()) {
    const auto count = std::min(gathered_.size(), kBatchMax);
    const auto end = gathered_.begin() + static_cast<std::ptrdiff_t>(count);
    under_way_.assign(gathered_.begin(), end);
    gathered_.erase(gathered_.begin(), end);
    batch_.clear();
    for (const Entry& entry : under_way_) batch_.push_back(engine_.describe(entry.change));
    busy_ = true;
    note_batch_begins();
    backend_.apply(batch_, *this);
  }
  dispatching_ = false;
}

void GroupCommit::on_applied(std::span<const ChangeResult> results) {
  SIMCO_ASSERT(busy_ && results.size() == under_way_.size());
  note_batch_ended();
  for (std::size_t i = 0; i < results.size(); ++i) settle(under_way_[i], batch_[i], results[i]);
  busy_ = false;
  if (!waiting_.empty()) {
    for (const Entry& entry : under_way_) resubmit_waiting(entry.change.slot);
  }
  under_way_.clear();
  dispatch();
  observer_.on_batch_done();
}

void GroupCommit::report(const Decision& decision) {
  if (metrics_ != nullptr) metrics_->decided(decision);
  observer_.on_decided(decision);
}

void GroupCommit::note_batch_begins() {
  if (metrics_ == nullptr) return;
  batch_began_ = Metrics::Clock::now();
  metrics_->batch(under_way_.size());
  for (const Entry& entry : under_way_) {
    if (entry.requester != nullptr) metrics_->took(Phase::kQueue, batch_began_ - entry.planned_at);
  }
}

void GroupCommit::note_batch_ended() {
  if (metrics_ == nullptr) return;
  const auto asked = std::ranges::count_if(
      under_way_, [](const Entry& entry) { return entry.requester != nullptr; });
  metrics_->batch_took(Metrics::Clock::now() - batch_began_, static_cast<std::size_t>(asked));
}

void GroupCommit::settle(const Entry& entry, const backend::RuleChange& change,
                         ChangeResult result) {
  Body reply;
  // The rule may be gone afterwards.
  const auto owner = engine_.owner(entry.change);
  const auto group = engine_.group(entry.change);
  if (result != ChangeResult::kDone) {
    const auto ended_by = engine_.roll_back(entry.change, result, observer_.now(), reply);
    report({change, result, owner, group, entry.requester, ended_by});
    if (entry.requester == nullptr) {
      observer_.on_expiry_failed(change.pid);
    } else {
      answer(*entry.requester, entry.tid, entry.transaction, reply);
    }
    return count_down(ended_by);
  }
  policy::RuleEvent event;
  engine_.commit(entry.change, observer_.now(), reply, event);
  report({change, result, owner, group, entry.requester, event.ended_by});
  const Requester* cause = entry.requester;
  if (const auto end = disabling_.find(event.ended_by); cause == nullptr && end != disabling_.end())
    cause = end->second.requester;
  observer_.on_rule_event(event, cause);
  count_down(event.ended_by);
  if (entry.requester == nullptr) return;
  if (event.ends == 0) return answer(*entry.requester, entry.tid, entry.transaction, reply);
  // 5.3.17: a PDR is answered when the rules that it hits are gone.
  disabling_.emplace(event.pid, Disabling{entry.requester, entry.tid, reply, event.ends});
  expire();
}

void GroupCommit::count_down(PolicyRuleId disable_rule) {
  const auto found = disabling_.find(disable_rule);
  if (found == disabling_.end() || --found->second.left != 0) return;
  const Disabling done = found->second;
  disabling_.erase(found);
  answer(*done.requester, done.tid, policy::Transaction::kPdr, done.reply);
}

void GroupCommit::resubmit_waiting(policy::RuleSlot slot) {
  const auto found = waiting_.find(slot);
  if (found == waiting_.end()) return;
  auto& requests = found->second;
  while (!requests.empty()) {
    const Waiting next = requests.front();
    Entry entry{next.requester, next.tid, {}};
    const auto verdict = decide(entry, next.request);
    SIMCO_ASSERT(verdict != PolicyEngine::Verdict::kWait);
    requests.pop_front();
    if (verdict == PolicyEngine::Verdict::kPlanned) break;
  }
  if (requests.empty()) waiting_.erase(slot);
}

}  // namespace simco::middlebox
