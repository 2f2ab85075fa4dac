// The shares of agents in a batch; then its stages, each of which ends with an answer of journal or
// backend: advance() begins the next one.
#include "middlebox/commit/change_queue.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco::middlebox {

using rule::RuleChange;
using rule::RuleKind;

bool ChangeQueue::heavy() const { return size() > kBatchMax || weight_ > kBatchWeight; }

void ChangeQueue::push(const RuleChange& change, const ChangeOrigin& origin) {
  waiting_.changes.push_back(change);
  waiting_.origins.push_back(origin);
  weight_ += origin.weight;
}

void ChangeQueue::take(ChangeBatch& batch) {
  batch.clear();
  batch.overtaken = overtaken_;
  if (heavy()) return take_shares(batch);
  std::swap(batch.changes, waiting_.changes);
  std::swap(batch.origins, waiting_.origins);
  weight_ = 0;
  overtaken_ = false;
}

void ChangeQueue::take_shares(ChangeBatch& batch) {
  shares_.clear();
  for (const auto& origin : waiting_.origins) shares_.try_emplace(origin.agent);
  const Share most{std::max<std::uint64_t>(kBatchWeight / shares_.size(), 1),
                   std::max<std::uint64_t>(kBatchMax / shares_.size(), 1)};
  std::size_t left = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const auto& origin = waiting_.origins[i];
    const auto& change = waiting_.changes[i];
    Share& share = shares_[origin.agent];
    const bool full = batch.size() >= kBatchMax || share.count >= most.count ||
                      (share.count != 0 && share.weight + origin.weight > most.weight);
    if (full) {
      share.count = most.count;  // an agent's changes keep their order
      if (left != i) {
        waiting_.changes[left] = change;
        waiting_.origins[left] = origin;
      }
      ++left;
      continue;
    }
    const bool disables =
        change.kind == RuleChange::Kind::kAdd && change.after.kind == RuleKind::kDisable;
    overtaken_ = overtaken_ || (disables && left != 0);
    share.weight += origin.weight;
    ++share.count;
    weight_ -= origin.weight;
    batch.changes.push_back(change);
    batch.origins.push_back(origin);
  }
  waiting_.changes.resize(left);
  waiting_.origins.resize(left);
}

using rule::ChangeResult;

void BatchRun::begin(std::span<const RuleChange> changes, const rule::IdPositions& ids) {
  SIMCO_ASSERT(idle());
  journal_ = next_journal_;
  changes_ = changes;
  ids_ = ids;
  results_.assign(changes.size(), ChangeResult::kDone);
  journal_failure_.reset();
  stage_ = Stage::kJournal;
  if (journal_ == nullptr) {
    answered_ = true;
  } else {
    keep(changes, Journal::State::kAfter);
  }
}

void BatchRun::keep(std::span<const RuleChange> changes, Journal::State state) {
  journal_->keep(changes, state, ids_,
                 [this](const Journal::Failure& failure) { on_journaled(failure); });
}

bool BatchRun::advance() {
  while (std::exchange(answered_, false)) {
    switch (stage_) {
      case Stage::kIdle: break;
      case Stage::kJournal: enforce(); break;
      case Stage::kEnforce: take_back(); break;
      case Stage::kTakeBack: return true;
    }
  }
  return false;
}

void BatchRun::on_journaled(const Journal::Failure& failure) {
  SIMCO_ASSERT(stage_ == Stage::kJournal || stage_ == Stage::kTakeBack);
  // Changes that the store still holds must not be restored at the next start.
  const bool still_kept = stage_ == Stage::kTakeBack && failure && !failure->taken;
  if (still_kept) journal_->put_off(changes_, results_);
  journal_failure_ = failure;
  answered_ = true;
  on_answer_();
}

void BatchRun::enforce() {
  SIMCO_ASSERT(stage_ == Stage::kJournal);
  stage_ = Stage::kEnforce;
  if (!journal_failure_) return backend_.apply(changes_, *this);
  enforce_removals();
}

void BatchRun::enforce_removals() {
  removals_.clear();
  removals_at_.clear();
  std::ranges::fill(results_, ChangeResult::kNoResources);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    // Once another middlebox has taken the rules over, they are its own to end.
    if (journal_failure_->taken || changes_[i].kind != RuleChange::Kind::kRemove) continue;
    removals_.push_back(changes_[i]);
    removals_at_.push_back(i);
  }
  if (!removals_.empty()) return backend_.apply(removals_, *this);
  answered_ = true;
}

void BatchRun::on_applied(std::span<const ChangeResult> results) {
  SIMCO_ASSERT(stage_ == Stage::kEnforce && !answered_);
  if (journal_failure_) {
    SIMCO_ASSERT(results.size() == removals_at_.size());
    for (std::size_t i = 0; i < results.size(); ++i) results_[removals_at_[i]] = results[i];
  } else {
    SIMCO_ASSERT(results.size() == changes_.size());
    std::ranges::copy(results, results_.begin());
  }
  answered_ = true;
  on_answer_();
}

// The refusal waits until the store has forgotten the change: else a restart could bring it about.
void BatchRun::take_back() {
  SIMCO_ASSERT(stage_ == Stage::kEnforce && results_.size() == changes_.size());
  stage_ = Stage::kTakeBack;
  const bool refused = std::ranges::any_of(
      results_, [](ChangeResult result) { return result != ChangeResult::kDone; });
  if (journal_failure_ || journal_ == nullptr || !refused) {
    // Whether the store has them is not known if it was lost on the way.
    if (journal_failure_ && !journal_failure_->taken) journal_->put_off(changes_, results_);
    answered_ = true;
    return;
  }
  std::vector<RuleChange> undone;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i] != ChangeResult::kDone) undone.push_back(changes_[i]);
  }
  keep(undone, Journal::State::kBefore);
}

}  // namespace simco::middlebox
