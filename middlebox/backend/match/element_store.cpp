#include "middlebox/backend/match/element_store.hpp"

#include <algorithm>

namespace simco::backend::match {

Instant last_end(const Holders& holders) {
  Instant last = Instant::min();
  for (const auto& holder : holders) last = std::max(last, holder.expires_at);
  return last;
}

Holders ElementStore::find(const Key& key) const {
  const auto first = first_.find(key);
  if (first == first_.end()) return {};
  if (!more_.empty()) {
    const auto more = more_.find(key);
    if (more != more_.end()) return more->second;
  }
  return {first->second};
}

bool ElementStore::holds(const Key& key, PolicyRuleId pid) const {
  const auto holders = find(key);
  return std::any_of(holders.begin(), holders.end(),
                     [pid](const Holder& holder) { return holder.pid == pid; });
}

std::size_t ElementStore::count_of(rule::AgentId owner) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      first_, [owner](const auto& entry) { return entry.second.owner == owner; }));
}

Holders ElementStore::hold(const Key& key, const Holder& holder) {
  const auto [first, is_new] = first_.try_emplace(key, holder);
  if (is_new) return {};
  const Holders before = find(key);
  Holders after = before;
  after.push_back(holder);
  more_.insert_or_assign(key, after);
  return before;
}

void ElementStore::set(const Key& key, const Holders& holders) {
  if (holders.empty()) {
    first_.erase(key);
    if (!targets_.empty()) targets_.erase(key);
  } else {
    first_.insert_or_assign(key, holders.front());
  }
  if (holders.size() > 1)
    more_.insert_or_assign(key, holders);
  else if (!more_.empty())
    more_.erase(key);
}

Target ElementStore::target(const Key& key) const {
  const auto found = targets_.find(key);
  return found == targets_.end() ? Target{} : found->second;
}

}  // namespace simco::backend::match
