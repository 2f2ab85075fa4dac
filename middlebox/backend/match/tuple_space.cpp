// An entry of a store has the key and its first holder; the table of places says which entry a key
// has. A packet is looked up in each store.
#include "middlebox/backend/match/tuple_space.hpp"

#include <algorithm>

#include "simco/wire/assert.hpp"

namespace simco::backend::match {

Instant last_end(const Holders& holders) {
  Instant last = Instant::min();
  for (const auto& holder : holders) last = std::max(last, holder.expires_at);
  return last;
}

const ElementStore::Entry* ElementStore::entry_of(const Key& key) const {
  const auto place = places_.find(wanted(key));
  return place == places_.end() ? nullptr : &entries_[place->entry];
}

std::uint32_t ElementStore::fill_entry(const Entry& contents) {
  if (free_.empty()) {
    entries_.push_back(contents);
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const auto entry = free_.back();
  free_.pop_back();
  entries_[entry] = contents;
  return entry;
}

void ElementStore::erase(const Key& key) {
  const auto place = places_.find(wanted(key));
  if (place == places_.end()) return;
  free_.push_back(place->entry);
  entries_[place->entry].holder = {};
  places_.erase(place);
  if (!places_.empty()) return;
  entries_.clear();
  free_.clear();
}

Holders ElementStore::find(const Key& key) const {
  const Entry* entry = entry_of(key);
  if (entry == nullptr) return {};
  if (!more_.empty()) {
    const auto more = more_.find(key);
    if (more != more_.end()) return more->second;
  }
  return {entry->holder};
}

bool ElementStore::holds(const Key& key, PolicyRuleId pid) const {
  const auto holders = find(key);
  return std::any_of(holders.begin(), holders.end(),
                     [pid](const Holder& holder) { return holder.pid == pid; });
}

std::size_t ElementStore::count_of(rule::AgentId owner) const {
  return static_cast<std::size_t>(std::ranges::count_if(entries_, [owner](const Entry& entry) {
    return entry.holder.pid != PolicyRuleId{} && entry.holder.owner == owner;
  }));
}

Holders ElementStore::hold(const Key& key, const Holder& holder) {
  SIMCO_ASSERT(holder.pid != PolicyRuleId{});
  bool is_new = false;
  const Wanted place = wanted(key);
  places_.lazy_emplace(place, [&](const auto& construct) {
    is_new = true;
    construct(Place{place.hash, fill_entry({key, holder})});
  });
  if (is_new) return {};
  Holders before = find(key);
  Holders after = before;
  after.push_back(holder);
  more_.insert_or_assign(key, std::move(after));
  return before;
}

void ElementStore::set(const Key& key, const Holders& holders) {
  SIMCO_ASSERT(std::ranges::none_of(
      holders, [](const Holder& holder) { return holder.pid == PolicyRuleId{}; }));
  if (holders.empty()) {
    erase(key);
    if (!targets_.empty()) targets_.erase(key);
    if (!more_.empty()) more_.erase(key);
    return;
  }
  Entry* entry = entry_of(key);
  if (entry == nullptr) {
    SIMCO_ASSERT(holders.size() == 1);
    hold(key, holders.front());
    return;
  }
  if (holders.size() > 1)
    more_.insert_or_assign(key, holders);
  else if (!more_.empty())
    more_.erase(key);
  entry->holder = holders.front();
}

Target ElementStore::target(const Key& key) const {
  const auto found = targets_.find(key);
  return found == targets_.end() ? Target{} : found->second;
}

ElementStore* TupleSpace::find(const Mask& mask) {
  if (recent_ != nullptr && recent_->mask() == mask) return recent_;
  const auto found = stores_.find(mask);
  if (found == stores_.end()) return nullptr;
  recent_ = found->second.get();
  return recent_;
}

ElementStore& TupleSpace::add(const Mask& mask, rule::AgentId introduced_by) {
  const auto [entry, added] =
      stores_.emplace(mask, std::make_unique<ElementStore>(mask, introduced_by));
  SIMCO_ASSERT(added);
  return *entry->second;
}

void TupleSpace::remove(const Mask& mask) {
  const auto found = stores_.find(mask);
  SIMCO_ASSERT(found != stores_.end() && found->second->empty());
  stores_.erase(found);
  recent_ = nullptr;
}

std::vector<Mask> TupleSpace::masks() const {
  std::vector<Mask> result;
  for (const auto& [mask, store] : stores_) result.push_back(mask);
  return result;
}

bool TupleSpace::allows(const Ends& ends) const {
  return std::ranges::any_of(stores_, [&](const auto& entry) {
    const auto& [mask, store] = entry;
    if (mask.purpose != Purpose::kEnable || mask.version != ends.version) return false;
    if (!mask.intervals) return ports_match(mask, ends) && store->has(key_of(mask, ends));
    bool hit = false;
    store->for_each(
        [&, point = point_of(ends)](const Key& key, Instant) { hit |= overlap(key, point); });
    return hit;
  });
}

bool TupleSpace::translates_destination(const Ends& ends, bool from_outside) const {
  const auto purpose = from_outside ? Purpose::kDestinationOutside : Purpose::kDestinationInside;
  const auto port = from_outside ? ends.internal_port : ends.external_port;
  return std::ranges::any_of(stores_, [&](const auto& entry) {
    const auto& [mask, store] = entry;
    if (mask.purpose != purpose || mask.version != ends.version) return false;
    if (mask.last_port != 0 && (port < mask.first_port || port > mask.last_port)) return false;
    return store->has(key_of(mask, ends));
  });
}

bool TupleSpace::translates(const Translation& flow) const {
  const auto purpose = flow.begun_outside ? Purpose::kDestinationOutside : Purpose::kSourceOutside;
  Ends met = flow.ends;  // as the data path meets the first packet
  Target wanted{flow.outside, flow.outside_port};
  if (flow.begun_outside) {
    std::swap(met.internal, wanted.address);
    std::swap(met.internal_port, wanted.port);
  }
  return std::ranges::any_of(stores_, [&](const auto& entry) {
    const auto& [mask, store] = entry;
    if (mask.purpose != purpose || mask.version != met.version) return false;
    const auto port = met.internal_port;
    if (mask.last_port != 0 && (port < mask.first_port || port > mask.last_port)) return false;
    const Key key = key_of(mask, met);
    if (!store->has(key)) return false;
    const Target target = store->target(key);
    return target.address == wanted.address && (!mask.target_port || target.port == wanted.port);
  });
}

}  // namespace simco::backend::match
