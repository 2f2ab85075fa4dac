// What a change of a rule means for the elements of the sets.
#include <algorithm>

#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/nftables_backend.hpp"

namespace simco::backend::nftables {
namespace {

/// Octets that an operation takes in a message, at most: two elements of an interval set, IPv6.
constexpr std::size_t kOperationOctets = 400;

/// Changes whose elements are looked for at a time.
constexpr std::uint32_t kAhead = 16;

}  // namespace

std::uint32_t NftablesBackend::plan(std::span<const RuleChange> batch, std::uint32_t begin,
                                    std::uint32_t end) {
  operations_.clear();
  missing_.reset();
  std::uint32_t index = begin;
  while (index < end && operations_.size() * kOperationOctets < kCommitOctets) {
    const auto ahead = std::min(index + kAhead, end);
    make_ahead(batch.subspan(index, ahead - index));
    for (std::size_t i = 0; index < ahead; ++index, ++i) {
      results_[index] = refused_[index] ? *refused_[index] : plan(batch[index], made_[i], index);
      if (missing_) return index;
    }
  }
  return index;
}

// Stores are larger than caches: the places of several changes are fetched at a time.
void NftablesBackend::make_ahead(std::span<const RuleChange> changes) {
  elements_.clear();
  made_.clear();
  for (const RuleChange& change : changes) {
    Made made{elements_.size(), 0, true};
    if (change.rule().kind != RuleKind::kReserve)
      made.possible = make_elements(change.rule(), elements_);
    made.end = elements_.size();
    made_.push_back(made);
  }
  for (const Element& element : elements_) {
    if (const ElementStore* store = find_store(element.shape)) store->prefetch(element.key);
  }
}

ChangeResult NftablesBackend::plan(const RuleChange& change, const Made& made,
                                   std::uint32_t index) {
  const RuleRecord& rule = change.rule();
  if (rule.kind == RuleKind::kReserve) return ChangeResult::kDone;  // lets nothing pass
  // Without a table there is nothing to remove either.
  if (lost_ && change.kind != RuleChange::Kind::kRemove) return ChangeResult::kRefused;
  const std::span<const Element> elements(elements_.data() + made.begin, made.end - made.begin);
  const Holder holder{rule.pid, rule.owner.value, rule.expires_at};
  placed_.clear();
  switch (change.kind) {
    case RuleChange::Kind::kAdd:
    case RuleChange::Kind::kReplace: {
      if (!made.possible) return ChangeResult::kRefused;
      for (const Element& element : elements) {
        const auto result = place_new(element, rule.owner.value);
        if (result != ChangeResult::kDone) return result;
      }
      for (const auto& [store, element] : placed_) add_holder(*store, element, holder, index);
      break;
    }
    case RuleChange::Kind::kSetLifetime:
    case RuleChange::Kind::kRemove: {
      const bool removes = change.kind == RuleChange::Kind::kRemove;
      place_old(elements, rule.pid);
      for (const auto& [store, element] : placed_) {
        replace_holder(*store, element, holder, removes, index);
      }
      break;
    }
  }
  return ChangeResult::kDone;
}

// --- Where elements go ---------------------------------------------------------------------------

ChangeResult NftablesBackend::place_new(const Element& element, std::uint32_t owner) {
  if (element.shape.intervals) return place_interval(element, owner);
  ElementStore* store = find_store(element.shape);
  if (store == nullptr && !room_for(element.shape, owner)) {
    return place_as_intervals(element, owner);
  }
  if (store == nullptr) return need_set(element.shape, owner);
  // Two rules cannot have the same packets translated in two ways, but may well in one.
  if (element.shape.translates() && store->has(element.key) &&
      store->target(element.key) != element.target) {
    return ChangeResult::kRefused;
  }
  placed_.emplace_back(store, element);
  return ChangeResult::kDone;
}

ChangeResult NftablesBackend::need_set(const Shape& shape, std::uint32_t owner) {
  missing_ = {shape, owner};
  return ChangeResult::kRefused;
}

ChangeResult NftablesBackend::place_as_intervals(const Element& element, std::uint32_t owner) {
  auto result = ChangeResult::kNoResources;
  // There is one way to translate a packet, and it has to be found by a mask.
  if (!element.shape.translates()) {
    const auto placed = static_cast<std::ptrdiff_t>(placed_.size());
    std::vector<Element> intervals;
    add_intervals(element, intervals);
    for (const Element& interval : intervals) {
      result = place_interval(interval, owner);
      if (result != ChangeResult::kDone) break;
    }
    if (result == ChangeResult::kDone || missing_) return result;
    placed_.erase(placed_.begin() + placed, placed_.end());
  }
  // What was granted had its place: that of a rule which came later, or has ended since.
  return restoring_ ? need_set(element.shape, owner) : result;
}

// The kernel cannot hold intervals that overlap, unless they came in the right order.
ChangeResult NftablesBackend::place_interval(const Element& element, std::uint32_t owner) {
  ElementStore* store = find_store(element.shape);
  if (store == nullptr) return need_set(element.shape, owner);
  if (!store->has(element.key)) {
    const std::size_t free = kIntervalsMax - std::min(kIntervalsMax, store->size());
    if (free == 0 || (!restoring_ && store->count_of(owner) >= free)) {
      return ChangeResult::kNoResources;
    }
    bool overlaps = false;
    store->for_each([&](const Key& key, Instant) { overlaps |= overlap(key, element.key); });
    if (overlaps) return ChangeResult::kRefused;
  }
  placed_.emplace_back(store, element);
  return ChangeResult::kDone;
}

void NftablesBackend::place_old(std::span<const Element> elements, PolicyRuleId pid) {
  const auto place = [&](const Element& element) {
    ElementStore* store = find_store(element.shape);
    if (store == nullptr || !store->holds(element.key, pid)) return false;
    placed_.emplace_back(store, element);
    return true;
  };
  std::vector<Element> intervals;
  for (const Element& element : elements) {
    if (place(element) || element.shape.intervals || element.shape.translates()) continue;
    add_intervals(element, intervals);
  }
  for (const Element& element : intervals) place(element);
}

ElementStore* NftablesBackend::find_store(const Shape& shape) {
  if (recent_ != nullptr && recent_->shape() == shape) return recent_;
  const auto found = stores_.find(shape);
  if (found == stores_.end()) return nullptr;
  recent_ = found->second.get();
  return recent_;
}

bool NftablesBackend::allow(const Ends& ends) const {
  return std::ranges::any_of(stores_, [&](const auto& entry) {
    const auto& [shape, store] = entry;
    if (shape.purpose != Purpose::kEnable || shape.version != ends.version) return false;
    if (!shape.intervals) return ports_match(shape, ends) && store->has(key_of(shape, ends));
    bool hit = false;
    store->for_each(
        [&, point = point_of(ends)](const Key& key, Instant) { hit |= overlap(key, point); });
    return hit;
  });
}

bool NftablesBackend::translate(const Translation& flow) const {
  const auto purpose = flow.begun_outside ? Purpose::kDestinationOutside : Purpose::kSourceOutside;
  Ends met = flow.ends;  // as the kernel meets the first packet
  Target wanted{flow.outside, flow.outside_port};
  if (flow.begun_outside) {
    std::swap(met.internal, wanted.address);
    std::swap(met.internal_port, wanted.port);
  }
  return std::ranges::any_of(stores_, [&](const auto& entry) {
    const auto& [shape, store] = entry;
    if (shape.purpose != purpose || shape.version != met.version) return false;
    const auto port = met.internal_port;
    if (shape.last_port != 0 && (port < shape.first_port || port > shape.last_port)) return false;
    const Key key = key_of(shape, met);
    if (!store->has(key)) return false;
    const Target target = store->target(key);
    return target.address == wanted.address && (!shape.target_port || target.port == wanted.port);
  });
}

bool NftablesBackend::room_for(const Shape& shape, std::uint32_t owner) const {
  if (is_common(shape)) return true;
  std::size_t used = 0;
  std::size_t own = 0;
  for (const auto& [other, store] : stores_) {
    if (other.intervals || other.purpose != shape.purpose || other.version != shape.version ||
        is_common(other)) {
      continue;
    }
    ++used;
    if (store->maker() == owner) ++own;
  }
  return used < kShapesMax && (restoring_ || own < kShapesMax - used);
}

// --- Rules of an earlier life --------------------------------------------------------------------

// They all had a place, but which rule had which is not known. So those that can only be intervals
// come first, and where there is no room for the others, there are more sets than usual.
void NftablesBackend::plan_restored(std::span<const RuleChange> rules) {
  restoring_ = true;
  const auto count = static_cast<std::uint32_t>(rules.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (std::max(rules[i].after.internal.port_range, rules[i].after.external.port_range) >
        kPortsPerRuleMax) {
      plan_large_range(rules, i);
    }
  }
  for (std::uint32_t done = 0; done < count;) {
    done = plan(rules, done, count);
    if (missing_) add_store(*missing_);
  }
  restoring_ = false;
}

void NftablesBackend::plan_large_range(std::span<const RuleChange> rules, std::uint32_t index) {
  do {
    if (missing_) add_store(*missing_);
    missing_.reset();
    make_ahead(rules.subspan(index, 1));
    refused_[index] = plan(rules[index], made_.front(), index);
  } while (missing_);
}

// --- Changing stores -----------------------------------------------------------------------------

void NftablesBackend::add_holder(ElementStore& store, const Element& element, const Holder& holder,
                                 std::uint32_t index) {
  Operation& operation = operations_.emplace_back(
      &store, element.key, element.target, store.hold(element.key, holder), Holders{holder}, index);
  // Those that held it before hold it still.
  for (const Holder& other : operation.before) operation.after.push_back(other);
  note_change(store, element);
}

void NftablesBackend::replace_holder(ElementStore& store, const Element& element,
                                     const Holder& holder, bool removes, std::uint32_t index) {
  const Holders before = store.find(element.key);
  Holders after;
  for (const Holder& other : before) {
    if (other.pid != holder.pid)
      after.push_back(other);
    else if (!removes)
      after.push_back(holder);
  }
  store.set(element.key, after);
  operations_.emplace_back(&store, element.key, element.target, before, after, index);
  note_change(store, element);
}

void NftablesBackend::note_change(ElementStore& store, const Element& element) {
  if (element.shape.translates() && store.has(element.key)) {
    store.set_target(element.key, element.target);
  }
  if (store.empty()) empty_since_[&store] = planned_at_;
  if (inspection_.busy()) touched_[store.shape()].insert(element.key);
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
