// What a change of a rule means for the elements of the sets.
#include <algorithm>

#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/nftables_backend.hpp"

namespace simco::backend::nftables {
namespace {

/// Octets that an operation takes in a message, at most: two elements of an interval set, IPv6.
constexpr std::size_t kOperationOctets = 400;

}  // namespace

std::uint32_t NftablesBackend::plan(std::span<const RuleChange> batch, std::uint32_t begin,
                                    std::uint32_t end) {
  operations_.clear();
  missing_.reset();
  std::uint32_t index = begin;
  for (; index < end && operations_.size() * kOperationOctets < kCommitOctets; ++index) {
    if (refused_[index]) {
      results_[index] = *refused_[index];
      continue;
    }
    results_[index] = plan(batch[index], index);
    if (missing_) break;
  }
  return index;
}

ChangeResult NftablesBackend::plan(const RuleChange& change, std::uint32_t index) {
  if (change.rule == RuleKind::kReserve) return ChangeResult::kDone;  // lets nothing pass
  // Without a table there is nothing to remove either.
  if (lost_ && change.kind != RuleChange::Kind::kRemove) return ChangeResult::kRefused;
  const Instant until = planned_at_ + std::chrono::seconds(change.lifetime.seconds);
  placed_.clear();
  switch (change.kind) {
    case RuleChange::Kind::kAdd:
    case RuleChange::Kind::kReplace: {
      const auto result = place_new(change, placed_);
      if (result != ChangeResult::kDone) return result;
      for (const auto& [store, element] : placed_) {
        Holders holders = store->find(element.key);
        holders.push_back({change.pid, until});
        set_holders(*store, element, holders, index);
      }
      return result;
    }
    case RuleChange::Kind::kSetLifetime:
    case RuleChange::Kind::kRemove: {
      const bool removes = change.kind == RuleChange::Kind::kRemove;
      place_old(change, placed_);
      for (const auto& [store, element] : placed_) {
        Holders holders;
        for (const Holder& holder : store->find(element.key)) {
          if (holder.pid != change.pid)
            holders.push_back(holder);
          else if (!removes)
            holders.push_back({change.pid, until});
        }
        set_holders(*store, element, holders, index);
      }
      return ChangeResult::kDone;
    }
  }
  return ChangeResult::kRefused;
}

// --- Where elements go ---------------------------------------------------------------------------

ChangeResult NftablesBackend::place_new(const RuleChange& change, Placed& placed) {
  elements_.clear();
  if (!make_elements(change, elements_)) return ChangeResult::kRefused;
  for (const Element& element : elements_) {
    const auto result = place_new(element, change.pid, placed);
    if (result != ChangeResult::kDone) return result;
  }
  return ChangeResult::kDone;
}

ChangeResult NftablesBackend::place_new(const Element& element, PolicyRuleId pid, Placed& placed) {
  if (element.shape.intervals) return place_interval(element, pid, placed);
  ElementStore* store = find_store(element.shape);
  if (store == nullptr && !room_for(element.shape)) {
    // There is one way to translate a packet, and it has to be found by a mask.
    if (element.shape.translates()) return ChangeResult::kNoResources;
    std::vector<Element> intervals;
    add_intervals(element, intervals);
    for (const Element& interval : intervals) {
      const auto result = place_interval(interval, pid, placed);
      if (result != ChangeResult::kDone) return result;
    }
    return ChangeResult::kDone;
  }
  if (store == nullptr) {
    missing_ = element.shape;
    return ChangeResult::kRefused;
  }
  // Two rules cannot have the same packets translated in two ways.
  if (element.shape.translates() && !store->find(element.key).empty()) {
    return ChangeResult::kRefused;
  }
  placed.emplace_back(store, element);
  return ChangeResult::kDone;
}

// The kernel cannot hold intervals that overlap, unless they came in the right order.
ChangeResult NftablesBackend::place_interval(const Element& element, PolicyRuleId pid,
                                             Placed& placed) {
  ElementStore* store = find_store(element.shape);
  if (store == nullptr) {
    missing_ = element.shape;
    return ChangeResult::kRefused;
  }
  if (store->find(element.key).empty()) {
    if (store->size() >= kIntervalsMax) return ChangeResult::kNoResources;
    bool overlaps = false;
    store->for_each([&](const Key& key, Instant) { overlaps |= overlap(key, element.key); });
    if (overlaps) return ChangeResult::kRefused;
  } else if (store->holds(element.key, pid)) {
    return ChangeResult::kRefused;
  }
  placed.emplace_back(store, element);
  return ChangeResult::kDone;
}

void NftablesBackend::place_old(const RuleChange& change, Placed& placed) {
  elements_.clear();
  make_elements(change, elements_);
  std::vector<Element> intervals;
  for (const Element& element : elements_) {
    ElementStore* store = find_store(element.shape);
    if (store != nullptr && store->holds(element.key, change.pid)) {
      placed.emplace_back(store, element);
    } else if (!element.shape.intervals && !element.shape.translates()) {
      add_intervals(element, intervals);
    }
  }
  for (const Element& element : intervals) {
    ElementStore* store = find_store(element.shape);
    if (store != nullptr && store->holds(element.key, change.pid)) {
      placed.emplace_back(store, element);
    }
  }
}

ElementStore* NftablesBackend::find_store(const Shape& shape) {
  if (recent_ != nullptr && recent_->shape() == shape) return recent_;
  const auto found = stores_.find(shape);
  if (found == stores_.end()) return nullptr;
  recent_ = found->second.get();
  return recent_;
}

bool NftablesBackend::room_for(const Shape& shape) const {
  const auto alike = std::count_if(stores_.begin(), stores_.end(), [&](const auto& entry) {
    return !entry.first.intervals && entry.first.purpose == shape.purpose &&
           entry.first.version == shape.version;
  });
  return static_cast<std::size_t>(alike) < kShapesMax;
}

// --- Changing stores -----------------------------------------------------------------------------

void NftablesBackend::set_holders(ElementStore& store, const Element& element, Holders after,
                                  std::uint32_t index) {
  Operation operation{&store, element.key, element.target, store.find(element.key), after, index};
  store.set(element.key, after);
  if (element.shape.translates() && !after.empty()) store.set_target(element.key, element.target);
  if (store.empty()) empty_since_[&store] = planned_at_;
  if (inspection_.busy()) touched_[store.shape()].insert(element.key);
  operations_.push_back(std::move(operation));
}

void NftablesBackend::undo() {
  for (auto operation = operations_.rbegin(); operation != operations_.rend(); ++operation) {
    operation->store->set(operation->key, operation->before);
    if (operation->store->shape().translates() && !operation->before.empty()) {
      operation->store->set_target(operation->key, operation->target);
    }
  }
  operations_.clear();
}

}  // namespace simco::backend::nftables
