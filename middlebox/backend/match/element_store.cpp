// An entry has the key and its first holder, the table of places says which entry a key has. Both
// must agree after any failure, so steps that may fail come first in each change.
#include "middlebox/backend/match/element_store.hpp"

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

void ElementStore::provide_entry() {
  if (!free_.empty()) return;
  free_.reserve(1);
  entries_.emplace_back();
  free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
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
  // The table has a place for the key once it asks for the contents, which must not fail then.
  provide_entry();
  bool is_new = false;
  const Wanted place = wanted(key);
  places_.lazy_emplace(place, [&](const auto& construct) {
    is_new = true;
    const auto entry = free_.back();
    free_.pop_back();
    entries_[entry] = {key, holder};
    construct(Place{place.hash, entry});
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

}  // namespace simco::backend::match
