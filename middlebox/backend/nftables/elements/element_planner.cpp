// In this order: a batch and its undoing, the choice of a set for each element, changes of the
// stores, sets that appear and disappear, and the rules from before a restart.
#include "middlebox/backend/nftables/elements/element_planner.hpp"

#include <algorithm>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/match/limits.hpp"
#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {

std::string octets_of(const match::Mask& mask, const Key& key) {
  const auto octets = [&](bool end) {
    const auto laid_out = match::key_octets(mask, key, end);
    return std::string(reinterpret_cast<const char*>(laid_out.octets.data()), laid_out.size);
  };
  return mask.intervals ? octets(false) + octets(true) : octets(false);
}

Drift compare(ElementStore& store, SetKeys in_kernel, const TouchedKeys& touched, Instant now) {
  const auto& mask = store.mask();
  Drift drift;
  store.for_each([&](const Key& key, Instant expires_at) {
    const bool there = in_kernel.erase(octets_of(mask, key)) != 0;
    // The kernel may have ended it already; then no other program has removed it.
    const bool ending = expires_at <= now + kKernelTick;
    if (there || ending || touched.contains(key)) return;
    drift.missing.push_back({&store, key, store.target(key), {}, store.find(key)});
  });
  for (const Key& key : touched) in_kernel.erase(octets_of(mask, key));
  for (const auto& octets : in_kernel) {
    const auto size = mask.intervals ? octets.size() / 2 : octets.size();
    drift.foreign.push_back({octets.substr(0, size), octets.substr(size)});
  }
  return drift;
}

using match::Holder;
using rule::RuleKind;
using rule::RuleRecord;

// --- A batch -------------------------------------------------------------------------------------

void ElementPlanner::begin_batch(std::span<const RuleChange> batch) {
  SIMCO_ASSERT(operations_.empty() && !missing_);
  batch_ = batch;
  results_.assign(batch.size(), ChangeResult::kDone);
  decided_.assign(batch.size(), std::nullopt);
  uncertain_.assign(batch.size(), false);
}

std::uint32_t ElementPlanner::plan(std::uint32_t begin, std::uint32_t end, Instant now,
                                   bool enforceable) {
  SIMCO_ASSERT(begin < end && end <= batch_.size());
  SIMCO_ASSERT(operations_.empty() && !missing_);
  std::uint32_t index = begin;
  while (index < end && operations_.size() * kOperationOctets < kCommitOctets) {
    const auto ahead = std::min(index + kPreparedChanges, end);
    prepare(batch_.subspan(index, ahead - index));
    for (std::size_t i = 0; index < ahead; ++index, ++i) {
      results_[index] =
          decided_[index] ? *decided_[index] : plan_change(index, prepared_[i], now, enforceable);
      if (missing_) return index;
    }
  }
  SIMCO_ASSERT(index > begin);
  return index;
}

// Stores are larger than caches: the places of several changes are fetched at a time.
void ElementPlanner::prepare(std::span<const RuleChange> changes) {
  prepared_elements_.clear();
  prepared_.clear();
  for (const RuleChange& change : changes) {
    Prepared prepared{prepared_elements_.size(), 0, true};
    if (change.rule().kind != RuleKind::kReserve)
      prepared.possible = match::make_elements(change.rule(), prepared_elements_, pairs_);
    prepared.end = prepared_elements_.size();
    prepared_.push_back(prepared);
  }
  for (const Element& element : prepared_elements_) {
    if (const ElementStore* store = elements_.find(element.mask)) store->prefetch(element.key);
  }
}

ChangeResult ElementPlanner::plan_change(std::uint32_t index, const Prepared& prepared, Instant now,
                                         bool enforceable) {
  const RuleChange& change = batch_[index];
  const RuleRecord& rule = change.rule();
  SIMCO_ASSERT(rule.pid.value != 0);
  if (rule.kind == RuleKind::kReserve) return ChangeResult::kDone;  // lets nothing pass
  const bool removes = change.kind == RuleChange::Kind::kRemove;
  // Without a table there is nothing to remove either.
  if (!enforceable && !removes) return ChangeResult::kRefused;
  const auto elements =
      std::span(prepared_elements_).subspan(prepared.begin, prepared.end - prepared.begin);
  const Holder holder{rule.pid, rule.owner, rule.expires_at};
  placed_.clear();
  switch (change.kind) {
    case RuleChange::Kind::kAdd:
    case RuleChange::Kind::kReplace: {
      if (!prepared.possible) return ChangeResult::kRefused;
      for (const Element& element : elements) {
        const auto result = place_new(element, rule.owner);
        if (result != ChangeResult::kDone) return result;
      }
      for (const auto& [store, element] : placed_) add_holder(*store, element, holder, index);
      break;
    }
    case RuleChange::Kind::kSetLifetime:
    case RuleChange::Kind::kRemove: {
      place_old(elements, rule.pid);
      for (const auto& [store, element] : placed_) {
        replace_holder(*store, element, holder, removes, index);
      }
      break;
    }
  }
  for (const auto& [store, element] : placed_) note_change(*store, element, now);
  return ChangeResult::kDone;
}

void ElementPlanner::accept() {
  SIMCO_ASSERT(!missing_);
  operations_.clear();
}

void ElementPlanner::undo() {
  for (auto operation = operations_.rbegin(); operation != operations_.rend(); ++operation) {
    ElementStore& store = *operation->store;
    store.set(operation->key, operation->before);
    if (store.mask().translates() && !operation->before.empty()) {
      store.set_target(operation->key, operation->target);
    }
    SIMCO_ASSERT(!store.empty() || empty_since_.contains(store.mask()));
  }
  operations_.clear();
  missing_.reset();
}

void ElementPlanner::refuse(std::uint32_t change, ChangeResult result) {
  SIMCO_ASSERT(operations_.empty() && !missing_);
  SIMCO_ASSERT(change < batch_.size() && result != ChangeResult::kDone);
  results_[change] = result;
  decided_[change] = result;
}

void ElementPlanner::mark_uncertain(std::uint32_t change) {
  SIMCO_ASSERT(change < batch_.size());
  uncertain_[change] = true;
}

// --- Where elements go ---------------------------------------------------------------------------

ChangeResult ElementPlanner::place_new(const Element& element, rule::AgentId owner) {
  if (element.mask.intervals) return place_interval(element, owner);
  ElementStore* store = elements_.find(element.mask);
  if (store == nullptr && !room_for(element.mask, owner)) {
    return place_as_intervals(element, owner);
  }
  if (store == nullptr) return need_set(element.mask, owner);
  // Two rules cannot translate the same packets in two ways, but may in the same way.
  if (element.mask.translates() && store->has(element.key) &&
      store->target(element.key) != element.target) {
    return ChangeResult::kRefused;
  }
  placed_.emplace_back(store, element);
  return ChangeResult::kDone;
}

ChangeResult ElementPlanner::need_set(const Mask& mask, rule::AgentId owner) {
  missing_ = {mask, owner};
  return ChangeResult::kRefused;
}

ChangeResult ElementPlanner::place_as_intervals(const Element& element, rule::AgentId owner) {
  auto result = ChangeResult::kNoResources;
  // A packet has a single translation, and a mask must find it.
  if (!element.mask.translates()) {
    const auto placed = static_cast<std::ptrdiff_t>(placed_.size());
    std::vector<Element> intervals;
    match::add_intervals(element, intervals);
    for (const Element& interval : intervals) {
      result = place_interval(interval, owner);
      if (result != ChangeResult::kDone) break;
    }
    if (result == ChangeResult::kDone || missing_) return result;
    placed_.erase(placed_.begin() + placed, placed_.end());
  }
  // A granted rule had a place: that of a later rule, or of a rule that has ended.
  return recovering_ ? need_set(element.mask, owner) : result;
}

// The kernel cannot hold intervals that overlap, unless they came in the right order.
ChangeResult ElementPlanner::place_interval(const Element& element, rule::AgentId owner) {
  ElementStore* store = elements_.find(element.mask);
  if (store == nullptr) return need_set(element.mask, owner);
  if (!store->has(element.key)) {
    const auto placed = static_cast<std::size_t>(std::ranges::count_if(
        placed_, [store](const auto& other) { return other.first == store; }));
    const std::size_t free = kIntervalsMax - std::min(kIntervalsMax, store->size() + placed);
    if (free == 0 || (!recovering_ && store->count_of(owner) + placed >= free)) {
      return ChangeResult::kNoResources;
    }
    bool overlaps = false;
    store->for_each([&](const Key& key, Instant) { overlaps |= overlap(key, element.key); });
    if (overlaps) return ChangeResult::kRefused;
  }
  placed_.emplace_back(store, element);
  return ChangeResult::kDone;
}

/// Into placed_: where the elements of a rule are, translations aside.
void ElementPlanner::place_all(const RuleRecord& rule) {
  placed_.clear();
  if (rule.kind == RuleKind::kReserve) return;
  std::vector<Element> elements;
  match::make_elements(rule, elements, pairs_);
  std::erase_if(elements, [](const Element& element) { return element.mask.translates(); });
  place_old(elements, rule.pid);
}

void ElementPlanner::place_old(std::span<const Element> elements, PolicyRuleId pid) {
  const auto place = [&](const Element& element) {
    ElementStore* store = elements_.find(element.mask);
    if (store == nullptr || !store->holds(element.key, pid)) return false;
    placed_.emplace_back(store, element);
    return true;
  };
  std::vector<Element> intervals;
  for (const Element& element : elements) {
    if (place(element) || element.mask.intervals || element.mask.translates()) continue;
    match::add_intervals(element, intervals);
  }
  for (const Element& element : intervals) place(element);
}

bool ElementPlanner::room_for(const Mask& mask, rule::AgentId owner) const {
  if (is_common(mask)) return true;
  std::size_t used = 0;
  std::size_t own = 0;
  for (const auto& [other, store] : elements_.stores()) {
    if (other.intervals || other.purpose != mask.purpose || other.version != mask.version ||
        is_common(other)) {
      continue;
    }
    ++used;
    if (store->introduced_by() == owner) ++own;
  }
  return used < kMasksMax && (recovering_ || own < kMasksMax - used);
}

// --- Changing stores -----------------------------------------------------------------------------

void ElementPlanner::add_holder(ElementStore& store, const Element& element, const Holder& holder,
                                std::uint32_t index) {
  Operation& operation =
      operations_.emplace_back(&store, element.key, element.target, store.hold(element.key, holder),
                               Holders{holder}, index, uncertain_[index]);
  // Those that held it before hold it still.
  for (const Holder& other : operation.before) {
    SIMCO_ASSERT(other.pid != holder.pid);
    operation.after.push_back(other);
  }
}

void ElementPlanner::replace_holder(ElementStore& store, const Element& element,
                                    const Holder& holder, bool removes, std::uint32_t index) {
  const Holders before = store.find(element.key);
  Holders after;
  for (const Holder& other : before) {
    if (other.pid != holder.pid)
      after.push_back(other);
    else if (!removes)
      after.push_back(holder);
  }
  SIMCO_ASSERT(after.size() + (removes ? 1 : 0) == before.size());
  store.set(element.key, after);
  operations_.emplace_back(&store, element.key, element.target, before, after, index,
                           uncertain_[index]);
}

void ElementPlanner::note_change(ElementStore& store, const Element& element, Instant now) {
  if (element.mask.translates() && store.has(element.key)) {
    store.set_target(element.key, element.target);
  }
  if (store.empty()) empty_since_[store.mask()] = now;
}

// --- Sets ----------------------------------------------------------------------------------------

void ElementPlanner::add_set(const MissingSet& set, Instant now) {
  SIMCO_ASSERT(operations_.empty() && !missing_);
  elements_.add(set.mask, set.owner);
  empty_since_[set.mask] = now;
}

void ElementPlanner::remove_set(const Mask& mask) {
  SIMCO_ASSERT(operations_.empty() && !missing_);
  elements_.remove(mask);
  empty_since_.erase(mask);
}

std::vector<Mask> ElementPlanner::idle_sets(Instant empty_since) {
  std::vector<Mask> idle;
  for (auto entry = empty_since_.begin(); entry != empty_since_.end();) {
    const auto& [mask, since] = *entry;
    if (!elements_.find(mask)->empty()) {
      entry = empty_since_.erase(entry);
    } else {
      if (since <= empty_since) idle.push_back(mask);
      ++entry;
    }
  }
  return idle;
}

// --- The start -----------------------------------------------------------------------------------

// They all had a place, but which rule had which is not known. So those that can only be intervals
// come first, and if the others do not fit, there are more sets than usual.
void ElementPlanner::recover(std::span<const RuleChange> rules, Instant now) {
  begin_batch(rules);
  recovering_ = true;
  const auto count = static_cast<std::uint32_t>(rules.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (std::max(rules[i].after.internal.port_range, rules[i].after.external.port_range) >
        match::kPortsPerRuleMax) {
      recover_large_range(i, now);
    }
  }
  for (std::uint32_t done = 0; done < count;) {
    done = plan(done, count, now, true);
    operations_.clear();
    if (missing_) add_set(*std::exchange(missing_, std::nullopt), now);
  }
  recovering_ = false;
}

void ElementPlanner::recover_large_range(std::uint32_t index, Instant now) {
  for (;;) {
    prepare(batch_.subspan(index, 1));
    const auto result = plan_change(index, prepared_.front(), now, true);
    operations_.clear();
    if (!missing_) {
      decided_[index] = result;
      return;
    }
    add_set(*std::exchange(missing_, std::nullopt), now);
  }
}

}  // namespace simco::backend::nftables
