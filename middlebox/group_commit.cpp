#include "middlebox/group_commit.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/limits.hpp"
#include "middlebox/metrics.hpp"

namespace simco::middlebox {

using backend::ChangeResult;
using policy::PolicyEngine;

void GroupCommit::submit(Requester& requester, TransactionId tid, const Body& request) {
  // The copies borrow nothing: no policy rule request has variable parts.
  if (!lines_.empty()) {
    if (const auto line = lines_.find(&requester); line != lines_.end()) {
      return line->second.requests.push_back({tid, request, planned_});
    }
  }
  if (decide(requester, tid, request, planned_)) return;
  lines_[&requester].requests.push_back({tid, request, planned_});
}

bool GroupCommit::decide(Requester& requester, TransactionId tid, const Body& request,
                         std::uint64_t after) {
  using enum PolicyEngine::Verdict;
  Body reply;
  Entry entry{&requester, tid, {}};
  // A PDR of its own has its full effect when the rules that it hits are gone.
  const bool settled = settled_ >= after && !endings_.contains(&requester);
  const policy::Asker asker{requester.agent(), tid, requester.lifetime_max_s(), settled};
  const auto began = metrics_ == nullptr ? Instant{} : Metrics::Clock::now();
  const auto verdict = engine_.plan(asker, request, observer_.now(), reply, entry.change);
  if (metrics_ != nullptr) {
    entry.transaction = policy::transaction_of(request).value_or(policy::Transaction{});
    entry.planned_at = Metrics::Clock::now();
    metrics_->took(Phase::kDecide, entry.planned_at - began);
  }
  switch (verdict) {
    case kReplied: answer(requester, tid, entry.transaction, reply); return true;
    case kPlanned:
      entry.agent = requester.agent();
      gather(entry);
      return true;
    case kWaitForRule: after_rule_[entry.change.slot].push_back(&requester); return false;
    case kWaitForChanges: wait_for_changes(requester, after); return false;
  }
  return true;
}

std::uint64_t GroupCommit::settled_before(std::size_t next) const {
  std::uint64_t oldest = planned_ + 1;
  if (next < under_way_.size()) oldest = under_way_[next].number;
  if (!gathered_.empty()) oldest = std::min(oldest, gathered_.front().number);
  return oldest - 1;
}

void GroupCommit::wait_for_changes(Requester& requester, std::uint64_t after) {
  if (settled_ < after) {
    after_changes_.emplace(after, &requester);
    return;
  }
  endings_.at(&requester).awaited = true;
}

void GroupCommit::gather(Entry entry) {
  entry.number = ++planned_;
  entry.weight = engine_.weight(entry.change);
  gathered_weight_ += entry.weight;
  gathered_.push_back(entry);
}

void GroupCommit::answer(Requester& requester, TransactionId tid, policy::Transaction transaction,
                         const Body& reply) {
  if (metrics_ != nullptr) metrics_->replied(transaction, reply);
  requester.reply(tid, reply);
}

void GroupCommit::expire() {
  // What is due stays due; with the backend idle, this is asked again in the next turn.
  if (!busy_ && gathered_.size() >= kBacklogMax) return;
  expired_.clear();
  engine_.plan_expiry(observer_.now(), expired_);
  for (const auto& change : expired_) {
    Entry entry{nullptr, {}, change};
    entry.agent = engine_.owner(change);
    gather(entry);
  }
}

void GroupCommit::dispatch() {
  // The backend may answer from inside apply(): then the loop goes on here, not deeper.
  if (dispatching_) return;
  dispatching_ = true;
  while (!busy_ && !gathered_.empty()) {
    choose_batch();
    batch_.clear();
    for (const Entry& entry : under_way_) batch_.push_back(engine_.describe(entry.change));
    busy_ = true;
    note_batch_begins();
    backend_.apply(batch_, *this);
    if (!busy_ && gathered_weight_ > kBatchWeight && observer_.dispatch_later()) break;
  }
  dispatching_ = false;
}

void GroupCommit::choose_batch() {
  under_way_.clear();
  if (gathered_.size() > kBatchMax || gathered_weight_ > kBatchWeight) return choose_shares();
  under_way_.swap(gathered_);
  gathered_weight_ = 0;
}

void GroupCommit::choose_shares() {
  shares_.clear();
  for (const Entry& entry : gathered_) shares_.try_emplace(entry.agent);
  const Share most{std::max<std::uint64_t>(kBatchWeight / shares_.size(), 1),
                   std::max<std::uint64_t>(kBatchMax / shares_.size(), 1)};
  bool left = false;
  std::erase_if(gathered_, [&](const Entry& entry) {
    Share& share = shares_[entry.agent];
    const bool full = under_way_.size() >= kBatchMax || share.count >= most.count ||
                      (share.count != 0 && share.weight + entry.weight > most.weight);
    // A disable rule ends the enable rules that were planned before it: it comes after them.
    if (full || (left && engine_.is_disabling(entry.change))) {
      left = true;
      share.count = most.count;  // an agent's changes keep their order
      return false;
    }
    share.weight += entry.weight;
    ++share.count;
    gathered_weight_ -= entry.weight;
    under_way_.push_back(entry);
    return true;
  });
}

void GroupCommit::on_applied(std::span<const ChangeResult> results) {
  SIMCO_ASSERT(busy_ && results.size() == under_way_.size());
  note_batch_ended();
  for (std::size_t i = 0; i < results.size(); ++i) {
    settle(under_way_[i], batch_[i], results[i]);
    settled_ = settled_before(i + 1);
    // At once: what waits for this change must not see the later ones of the batch.
    if (!lines_.empty()) wake(under_way_[i].change.slot);
  }
  busy_ = false;
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
  observer_.on_rule_event(event, entry.requester);
  count_down(event.ended_by);
  if (entry.requester == nullptr) return;
  if (event.ends == 0) return answer(*entry.requester, entry.tid, entry.transaction, reply);
  // 5.3.17: a PDR is answered when the rules that it hits are gone.
  disabling_.emplace(event.pid, Disabling{entry.requester, entry.tid, reply, event.ends});
  ++endings_[entry.requester].count;
  expire();
}

void GroupCommit::count_down(PolicyRuleId disable_rule) {
  const auto found = disabling_.find(disable_rule);
  if (found == disabling_.end() || --found->second.left != 0) return;
  const Disabling disabling = found->second;
  disabling_.erase(found);
  done(disabling);
}

void GroupCommit::done(const Disabling& disabling) {
  answer(*disabling.requester, disabling.tid, policy::Transaction::kPdr, disabling.reply);
  const auto ending = endings_.find(disabling.requester);
  if (--ending->second.count != 0) return;
  const bool awaited = ending->second.awaited;
  endings_.erase(ending);
  if (awaited) resume(*disabling.requester);
}

void GroupCommit::wake(policy::RuleSlot slot) {
  auto rule = after_rule_.find(slot);
  while (rule != after_rule_.end() && !engine_.under_way(slot)) {
    Requester* const first = rule->second.front();
    rule->second.pop_front();
    if (rule->second.empty()) after_rule_.erase(rule);
    resume(*first);
    rule = after_rule_.find(slot);
  }
  while (!after_changes_.empty() && after_changes_.begin()->first <= settled_) {
    Requester* const first = after_changes_.begin()->second;
    after_changes_.erase(after_changes_.begin());
    resume(*first);
  }
}

void GroupCommit::resume(Requester& requester) {
  Line& line = lines_.at(&requester);
  while (!line.requests.empty()) {
    const Waiting& next = line.requests.front();
    const auto planned = planned_;
    if (!decide(requester, next.tid, next.request, std::max(next.after, line.after))) return;
    if (planned_ != planned) line.after = planned_;
    line.requests.pop_front();
  }
  lines_.erase(&requester);
}

}  // namespace simco::middlebox
