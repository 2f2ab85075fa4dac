#include "middlebox/group_commit.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/limits.hpp"

namespace simco::middlebox {

using backend::ChangeResult;
using policy::PolicyEngine;

void GroupCommit::submit(Requester& requester, TransactionId tid, const Body& request) {
  Body reply;
  Entry entry{&requester, tid, {}};
  const auto verdict =
      engine_.plan(requester.agent(), tid, request, observer_.now(), reply, entry.change);
  switch (verdict) {
    case PolicyEngine::Verdict::kReplied: return requester.reply(tid, reply);
    case PolicyEngine::Verdict::kPlanned: return gathered_.push_back(entry);
    // Only requests without variable parts can wait, so that the copy borrows nothing.
    case PolicyEngine::Verdict::kWait: return waiting_.push_back({&requester, tid, request});
  }
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
    backend_.apply(batch_, *this);
  }
  dispatching_ = false;
}

void GroupCommit::on_applied(std::span<const ChangeResult> results) {
  SIMCO_ASSERT(busy_ && results.size() == under_way_.size());
  for (std::size_t i = 0; i < results.size(); ++i) settle(under_way_[i], results[i]);
  under_way_.clear();
  busy_ = false;
  resubmit_waiting();
  dispatch();
  observer_.on_batch_done();
}

void GroupCommit::settle(const Entry& entry, ChangeResult result) {
  Body reply;
  if (result != ChangeResult::kDone) {
    const PolicyRuleId pid = engine_.describe(entry.change).pid;
    engine_.roll_back(entry.change, result, observer_.now(), reply);
    if (entry.requester == nullptr) return observer_.on_expiry_failed(pid);
    return entry.requester->reply(entry.tid, reply);
  }
  policy::RuleEvent event;
  engine_.commit(entry.change, observer_.now(), reply, event);
  observer_.on_rule_event(event, entry.requester);
  if (entry.requester != nullptr) entry.requester->reply(entry.tid, reply);
}

void GroupCommit::resubmit_waiting() {
  // In their order, so that two requests about one rule keep theirs: the second finds it under way.
  for (auto& request : std::exchange(waiting_, {})) {
    submit(*request.requester, request.tid, request.request);
  }
}

}  // namespace simco::middlebox
