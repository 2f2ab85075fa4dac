#include "middlebox/commit/change_queue.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/limits.hpp"

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

}  // namespace simco::middlebox
