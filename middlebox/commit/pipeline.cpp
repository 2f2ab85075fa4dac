// Follows a change through its stages: plan and queue, journal and enforce a batch, settle.
// advance() goes from stage to stage as the answers of journal and backend come.
#include "middlebox/commit/pipeline.hpp"

#include <algorithm>
#include <utility>

#include "simco/wire/assert.hpp"

namespace simco::middlebox {

using policy::Plan;
using policy::Verdict;
using rule::ChangeResult;
using rule::RuleChange;

CommitPipeline::CommitPipeline(policy::PolicyEngine& engine, Journal* journal,
                               backend::Backend& backend, Observer& observer, Metrics* metrics)
    : engine_(engine), journal_(journal), backend_(backend), observer_(observer), times_(metrics) {}

bool CommitPipeline::idle() const {
  return stage_ == Stage::kIdle && queue_.empty() && lines_.empty() && disabling_.empty();
}

// --- Plan ----------------------------------------------------------------------------------------

void CommitPipeline::submit(Requester& requester, TransactionId tid, const Body& request,
                            Instant now) {
  // The copies borrow nothing: no policy rule request has variable parts.
  if (!lines_.empty()) {
    if (const auto line = lines_.find(&requester); line != lines_.end()) {
      return line->second.requests.push_back({tid, request});
    }
  }
  if (decide(requester, tid, request, now)) return;
  lines_[&requester].requests.push_back({tid, request});
}

bool CommitPipeline::decide(Requester& requester, TransactionId tid, const Body& request,
                            Instant now) {
  const bool settled = requester.unsettled_ == 0;
  const policy::RequestContext context{requester.agent(), tid, requester.lifetime_max_s(), settled};
  const auto began = times_.now();
  const Plan plan = engine_.plan(context, request, now);
  const auto ended = times_.now();
  times_.decided(began, ended);
  switch (plan.verdict) {
    case Verdict::kReplied:
      if (const auto* refusal = std::get_if<NegativeReply>(&plan.reply)) {
        observer_.on_refused({requester, plan.transaction, refusal->code, &context, &request});
      }
      answer(requester, tid, plan.transaction, plan.reply);
      return true;
    case Verdict::kPlanned:
      ++requester.unsettled_;
      queue(plan, {&requester, tid, plan.transaction, {}, 0, {}, ended});
      return true;
    case Verdict::kWaitForRule: after_rule_[plan.awaited].push_back(&requester); return false;
    case Verdict::kWaitForChanges:
      SIMCO_ASSERT(!settled);
      lines_[&requester].for_changes = true;
      return false;
  }
  return true;
}

void CommitPipeline::queue(const Plan& plan, ChangeOrigin origin) {
  origin.slot = plan.slot;
  const auto audience = observer_.audience(plan.change.rule().owner);
  origin.weight = plan.weight + static_cast<std::uint32_t>(audience / kDeliveriesPerWeight);
  origin.agent = plan.charged_to;
  queue_.push(plan.change, origin);
  if (origin.requester != nullptr) ids_ = plan.ids;
}

// Disable rules look for what they hit only while few other rules wait for their end: so neither
// they nor what has expired waits for all that another one hits.
void CommitPipeline::expire(Instant now) {
  if (backlog_full()) return;
  std::size_t planned = 0;
  std::uint32_t looks = 0;
  PolicyRuleId found_all;
  do {
    for (; planned < policy::kExpiryBatchMax; ++planned) {
      const auto plan = engine_.plan_expiry(now);
      if (!plan) break;
      queue(*plan, {});
    }
    // What waited for it now waits for the rules that it ends.
    if (!after_rule_.empty() && found_all != PolicyRuleId{}) wake_rule(found_all, now);
  } while (planned < policy::kExpiryBatchMax && look_for_disabled(looks, found_all, now));
}

bool CommitPipeline::look_for_disabled(std::uint32_t& looks, PolicyRuleId& found_all, Instant now) {
  if (looks >= kDisableLooksMax) return false;
  const auto next = std::ranges::find_if(
      searchers_, [&](const Requester* requester) { return held_until(*requester) <= now; });
  if (next == searchers_.end()) return false;
  Requester& requester = **next;
  searchers_.erase(next);
  const auto pid = requester.searches_.front();
  const auto step = engine_.end_disabled(pid, kDisableLooksStep, now);
  looks += step.looked;
  requester.ending_ += step.ended;
  if (step.found_all) requester.searches_.pop_front();
  if (!requester.searches_.empty()) searchers_.push_back(&requester);
  if (step.completed) complete_disable(pid, now);
  found_all = step.found_all ? pid : PolicyRuleId{};
  return true;
}

// Its disable rule is in force, so no packet passes meanwhile. But nothing is held back beyond
// its lifetime, nor while a request of any session waits for it.
Instant CommitPipeline::held_until(const Requester& requester) const {
  if (requester.ending_ >= kDisableEndsMax) return Instant::max();
  const auto pid = requester.searches_.front();
  if (!requester.output_full() || after_rule_.contains(pid)) return {};
  return engine_.expires_at(pid);
}

std::optional<Instant> CommitPipeline::next_expiry() const {
  if (backlog_full()) return std::nullopt;
  auto next = engine_.next_expiry();
  for (const Requester* requester : searchers_) {
    const auto at = held_until(*requester);
    if (at != Instant::max() && (!next || at < *next)) next = at;
  }
  return next;
}

void CommitPipeline::wake_rule(PolicyRuleId pid, Instant now) {
  auto waiting = after_rule_.find(pid);
  while (waiting != after_rule_.end() && !engine_.under_way(pid)) {
    Requester* const first = waiting->second.front();
    waiting->second.pop_front();
    if (waiting->second.empty()) after_rule_.erase(waiting);
    resume(*first, now);
    waiting = after_rule_.find(pid);
  }
}

void CommitPipeline::wake(Requester& requester, Instant now) {
  SIMCO_ASSERT(requester.unsettled_ > 0);
  if (--requester.unsettled_ != 0 || lines_.empty()) return;
  const auto line = lines_.find(&requester);
  if (line != lines_.end() && std::exchange(line->second.for_changes, false)) {
    resume(requester, now);
  }
}

void CommitPipeline::resume(Requester& requester, Instant now) {
  Line& line = lines_.at(&requester);
  while (!line.requests.empty()) {
    const Waiting& next = line.requests.front();
    if (!decide(requester, next.tid, next.request, now)) return;
    line.requests.pop_front();
  }
  lines_.erase(&requester);
}

// --- Journal, enforce ----------------------------------------------------------------------------

bool CommitPipeline::advance(Instant now) {
  for (bool begun = false;;) {
    if (stage_ == Stage::kIdle) {
      if (queue_.empty()) return false;
      if (begun && queue_.heavy()) return true;
      if (!begin_batch(now)) continue;
      begun = true;
    }
    if (!std::exchange(stage_done_, false)) return false;
    switch (stage_) {
      case Stage::kIdle: break;
      case Stage::kJournal: enforce(); break;
      case Stage::kEnforce: take_back(); break;
      case Stage::kTakeBack: settle_batch(now); break;
    }
  }
}

bool CommitPipeline::begin_batch(Instant now) {
  SIMCO_ASSERT(batch_.size() == 0);
  queue_.take(batch_);
  if (batch_.overtaken) refuse_overridden(now);
  if (batch_.size() == 0) return false;
  results_.assign(batch_.size(), ChangeResult::kDone);
  journal_failure_.reset();
  times_.batch_begins(batch_);
  stage_ = Stage::kJournal;
  if (journal_ == nullptr) {
    stage_done_ = true;
  } else {
    journal_->keep(batch_.changes, Journal::State::kAfter, ids_, *this);
  }
  return true;
}

void CommitPipeline::refuse_overridden(Instant now) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const auto& change = batch_.changes[i];
    const auto& origin = batch_.origins[i];
    if (engine_.overridden(origin.slot, change)) {
      settle(change, origin, ChangeResult::kOverridden, now);
    } else {
      batch_.changes[kept] = change;
      batch_.origins[kept++] = origin;
    }
  }
  batch_.changes.resize(kept);
  batch_.origins.resize(kept);
}

void CommitPipeline::on_journaled(const Journal::Failure& failure) {
  SIMCO_ASSERT(stage_ == Stage::kJournal || stage_ == Stage::kTakeBack);
  // What could not be taken back must not come to life with the next start.
  const bool still_kept = stage_ == Stage::kTakeBack && failure && !failure->taken;
  if (still_kept) journal_->owe(batch_.changes, results_);
  journal_failure_ = failure;
  stage_done_ = true;
  observer_.on_stage_done();
}

void CommitPipeline::enforce() {
  SIMCO_ASSERT(stage_ == Stage::kJournal);
  stage_ = Stage::kEnforce;
  if (!journal_failure_) return backend_.apply(batch_.changes, *this);
  enforce_removals();
}

void CommitPipeline::enforce_removals() {
  removals_.clear();
  removals_at_.clear();
  std::ranges::fill(results_, ChangeResult::kNoResources);
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    // Once another middlebox has taken the rules over, they are its own to end.
    if (journal_failure_->taken || batch_.changes[i].kind != RuleChange::Kind::kRemove) continue;
    removals_.push_back(batch_.changes[i]);
    removals_at_.push_back(i);
  }
  if (!removals_.empty()) return backend_.apply(removals_, *this);
  stage_done_ = true;
}

void CommitPipeline::on_applied(std::span<const ChangeResult> results) {
  SIMCO_ASSERT(stage_ == Stage::kEnforce && !stage_done_);
  if (journal_failure_) {
    SIMCO_ASSERT(results.size() == removals_at_.size());
    for (std::size_t i = 0; i < results.size(); ++i) results_[removals_at_[i]] = results[i];
  } else {
    SIMCO_ASSERT(results.size() == batch_.size());
    std::ranges::copy(results, results_.begin());
  }
  stage_done_ = true;
  observer_.on_stage_done();
}

// The refusal waits until the store has forgotten the change: else a restart could bring it about.
void CommitPipeline::take_back() {
  SIMCO_ASSERT(stage_ == Stage::kEnforce && results_.size() == batch_.size());
  stage_ = Stage::kTakeBack;
  const bool refused = std::ranges::any_of(
      results_, [](ChangeResult result) { return result != ChangeResult::kDone; });
  if (journal_failure_ || journal_ == nullptr || !refused) {
    // Whether the store has them is not known if it was lost on the way.
    if (journal_failure_ && !journal_failure_->taken) journal_->owe(batch_.changes, results_);
    stage_done_ = true;
    return;
  }
  std::vector<RuleChange> undone;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i] != ChangeResult::kDone) undone.push_back(batch_.changes[i]);
  }
  journal_->keep(undone, Journal::State::kBefore, ids_, *this);
}

// --- Settle --------------------------------------------------------------------------------------

void CommitPipeline::settle_batch(Instant now) {
  SIMCO_ASSERT(stage_ == Stage::kTakeBack);
  times_.batch_ended(batch_);
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    settle(batch_.changes[i], batch_.origins[i], results_[i], now);
  }
  stage_ = Stage::kIdle;
  batch_.clear();
  // Every change that the engine has planned is settled, once, or waits here.
  SIMCO_ASSERT(engine_.changes_under_way() == queue_.size());
  if (!searchers_.empty()) expire(now);
}

void CommitPipeline::settle(const RuleChange& change, const ChangeOrigin& origin,
                            ChangeResult result, Instant now) {
  conclude(change, origin, result, now);
  // At once: what waits for this change must not see the later ones of the batch.
  if (!after_rule_.empty()) wake_rule(change.rule().pid, now);
}

void CommitPipeline::conclude(const RuleChange& change, const ChangeOrigin& origin,
                              ChangeResult result, Instant now) {
  // Its name is needed below, and the rule may be the last thing that keeps it.
  const auto owner = change.rule().owner;
  const bool ends = change.kind == RuleChange::Kind::kRemove;
  if (ends) engine_.hold(owner);
  const auto outcome = engine_.settle(origin.slot, change, result, now);
  Requester* const requester = origin.requester;
  rule::Decision decision{change, result, {}, {}, outcome.ended_by};
  if (requester != nullptr) {
    decision.by = requester->agent_name();
    decision.peer = requester->peer();
  }
  times_.settled(decision);
  observer_.on_decided(decision);
  const auto* refusal = std::get_if<NegativeReply>(&outcome.reply);
  if (requester != nullptr && refusal != nullptr) {
    observer_.on_refused({*requester, origin.transaction, refusal->code, nullptr, nullptr, &change,
                          result, journal_failure_.has_value()});
  }
  if (outcome.event) observer_.on_rule_event(*outcome.event, requester);
  if (outcome.ended_by != PolicyRuleId{}) {
    const auto disabling = disabling_.find(outcome.ended_by);  // not there: from before a restart
    if (disabling != disabling_.end()) --disabling->second.requester->ending_;
  }
  if (ends) engine_.release(owner);
  for (const auto pid : outcome.completed_disables) complete_disable(pid, now);
  if (requester == nullptr) {
    if (!outcome.event) observer_.on_expiry_failed(change.before.pid);
    return;
  }
  if (outcome.disabling) {
    // 5.3.17: a PDR is answered when the rules that it hits are gone.
    disabling_.emplace(change.after.pid, Disabling{requester, origin.tid, outcome.reply});
    if (requester->searches_.empty()) searchers_.push_back(requester);
    requester->searches_.push_back(change.after.pid);
    return;
  }
  answer(*requester, origin.tid, origin.transaction, outcome.reply);
  wake(*requester, now);
}

void CommitPipeline::answer(Requester& requester, TransactionId tid,
                            policy::Transaction transaction, const Body& reply) {
  times_.replied(transaction, reply);
  requester.reply(tid, reply);
}

void CommitPipeline::complete_disable(PolicyRuleId pid, Instant now) {
  const auto completed = disabling_.extract(pid);
  if (!completed) return;  // it was asked for before a restart
  const Disabling& disabling = completed.mapped();
  answer(*disabling.requester, disabling.tid, policy::Transaction::kPdr, disabling.reply);
  wake(*disabling.requester, now);
}

}  // namespace simco::middlebox
