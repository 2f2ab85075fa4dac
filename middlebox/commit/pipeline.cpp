// Follows a change through its stages: plan and queue, carry out a batch, settle.
#include "middlebox/commit/pipeline.hpp"

#include <algorithm>

#include "simco/wire/assert.hpp"

namespace simco::middlebox {

using policy::Plan;
using policy::Verdict;
using rule::ChangeResult;
using rule::RuleChange;

CommitPipeline::CommitPipeline(policy::PolicyEngine& engine, Journal* journal,
                               backend::Backend& backend, Observer& observer, Metrics* metrics)
    : engine_(engine),
      observer_(observer),
      times_(metrics),
      run_(journal, backend, [this] { observer_.on_stage_done(); }) {}

bool CommitPipeline::idle() const {
  return run_.idle() && queue_.empty() && lines_.empty() && pdrs_.empty();
}

// --- Plan ----------------------------------------------------------------------------------------

void CommitPipeline::submit(Requester& requester, TransactionId tid, const Body& request,
                            Instant now) {
  // The copies borrow nothing: no policy rule request has variable parts.
  const bool waits = lines_.contains(requester) || !decide(requester, tid, request, now);
  if (waits) lines_.push(requester, {tid, request});
}

bool CommitPipeline::decide(Requester& requester, TransactionId tid, const Body& request,
                            Instant now) {
  const bool settled = lines_.all_settled(requester);
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
      lines_.note_planned(requester);
      queue(plan, {&requester, tid, plan.transaction, {}, 0, {}, ended});
      return true;
    case Verdict::kWaitForRule: lines_.wait_for_rule(requester, plan.awaited); return false;
    case Verdict::kWaitForChanges: lines_.wait_for_changes(requester); return false;
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

// Disable rules search only while few other rules wait for their end: so neither they nor expired
// rules wait for all rules that another disable rule overlaps.
void CommitPipeline::expire(Instant now) {
  if (backlog_full()) return;
  std::size_t planned = 0;
  std::uint32_t looks = 0;
  std::optional<WaitingPdrs::Step> step;
  for (;;) {
    for (; planned < policy::kExpiryBatchMax; ++planned) {
      const auto plan = engine_.plan_expiry(now);
      if (!plan) break;
      queue(*plan, {});
    }
    // Requests that waited for it now wait for the rules that it ends.
    if (step && step->found_all && lines_.any_wait_for_rules()) wake_rule(step->pid, now);
    if (planned >= policy::kExpiryBatchMax || looks >= kDisableLooksMax) return;
    step = pdrs_.search(now);
    if (!step) return;
    looks += step->looked;
    if (step->completed) complete_disable(step->pid, now);
  }
}

std::optional<Instant> CommitPipeline::next_expiry() const {
  if (backlog_full()) return std::nullopt;
  const auto expiry = engine_.next_expiry();
  const auto search = pdrs_.next_search();
  return expiry && search ? std::min(expiry, search) : std::max(expiry, search);
}

void CommitPipeline::wake_rule(PolicyRuleId pid, Instant now) {
  while (!engine_.under_way(pid)) {
    Requester* const first = lines_.take_waiting(pid);
    if (first == nullptr) return;
    resume(*first, now);
  }
}

void CommitPipeline::wake(Requester& requester, Instant now) {
  if (lines_.note_settled(requester)) resume(requester, now);
}

void CommitPipeline::resume(Requester& requester, Instant now) {
  while (const auto* next = lines_.front(requester)) {
    if (!decide(requester, next->tid, next->body, now)) return;
    lines_.pop(requester);
  }
}

// --- Carry out ----------------------------------------------------------------------------

bool CommitPipeline::advance(Instant now) {
  for (bool begun = false;;) {
    if (run_.idle()) {
      if (queue_.empty()) return false;
      if (begun && queue_.heavy()) return true;
      if (!begin_batch(now)) continue;
      begun = true;
    }
    if (!run_.advance()) return false;
    settle_batch(now);
  }
}

bool CommitPipeline::begin_batch(Instant now) {
  SIMCO_ASSERT(batch_.size() == 0);
  queue_.take(batch_);
  if (batch_.overtaken) refuse_overridden(now);
  if (batch_.size() == 0) return false;
  times_.batch_begins(batch_);
  run_.begin(batch_.changes, ids_);
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

// --- Settle --------------------------------------------------------------------------------------

void CommitPipeline::settle_batch(Instant now) {
  times_.batch_ended(batch_);
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    settle(batch_.changes[i], batch_.origins[i], run_.results()[i], now);
  }
  run_.end();
  batch_.clear();
  // Every change that the engine has planned is settled, once, or waits here.
  SIMCO_ASSERT(engine_.changes_under_way() == queue_.size());
  if (pdrs_.searching()) expire(now);
}

void CommitPipeline::settle(const RuleChange& change, const ChangeOrigin& origin,
                            ChangeResult result, Instant now) {
  conclude(change, origin, result, now);
  // At once: requests that wait for this change must not see later changes of the batch.
  if (lines_.any_wait_for_rules()) wake_rule(change.rule().pid, now);
}

void CommitPipeline::conclude(const RuleChange& change, const ChangeOrigin& origin,
                              ChangeResult result, Instant now) {
  // Keep the owner alive, whose name is needed below: the rule may hold its last reference.
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
                          result, run_.store_failed()});
  }
  if (outcome.event) observer_.on_rule_event(*outcome.event, requester);
  if (outcome.ended_by != PolicyRuleId{}) pdrs_.note_ended(outcome.ended_by);
  if (ends) engine_.release(owner);
  for (const auto pid : outcome.completed_disables) complete_disable(pid, now);
  if (requester == nullptr) {
    if (!outcome.event && ends) observer_.on_expiry_failed(change.before.pid);
    return;
  }
  if (outcome.disabling) {
    // 5.3.17: a PDR is answered when the rules that it hits are gone.
    return pdrs_.add(change.after.pid, {requester, origin.tid, outcome.reply});
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
  const auto pdr = pdrs_.complete(pid);
  if (!pdr) return;  // it was asked for before a restart
  answer(*pdr->requester, pdr->tid, policy::Transaction::kPdr, pdr->reply);
  wake(*pdr->requester, now);
}

}  // namespace simco::middlebox
