// Accounts of elements, and the counts from before a rule joined.
#include "middlebox/backend/nftables/counters/counter_ledger.hpp"

#include <algorithm>

namespace simco::backend::nftables {

void CounterLedger::restart(const match::TupleSpace& elements, Instant now) {
  for (const auto& [mask, store] : elements.stores()) {
    if (mask.translates()) continue;
    store->for_each([&](const Key& key, Instant) {
      const ElementId id{store.get(), key};
      if (index_.contains(id)) {
        lose(id, now);
      } else {
        add(id, now);
      }
    });
  }
}

void CounterLedger::add(const ElementId& id, Instant now) {
  if (!index_.emplace(id, accounts_.size()).second) return;
  accounts_.push_back({id, {}, {}, std::nullopt, now, now});
}

void CounterLedger::remove(const ElementId& id) {
  const auto found = index_.find(id);
  if (found == index_.end()) return;
  joined_.erase(id);
  const auto place = found->second;
  index_.erase(found);
  if (place + 1 != accounts_.size()) {
    accounts_[place] = accounts_.back();
    index_[accounts_[place].id] = place;
  }
  accounts_.pop_back();
}

void CounterLedger::join(const ElementId& id, PolicyRuleId pid, Instant now) {
  if (const auto* known = find(id)) joined_[id].push_back({pid, known->total(), now});
}

void CounterLedger::leave(const ElementId& id, PolicyRuleId pid) {
  const auto found = joined_.find(id);
  if (found == joined_.end()) return;
  std::erase_if(found->second, [&](const Joined& joined) { return joined.pid == pid; });
  if (found->second.empty()) joined_.erase(found);
}

void CounterLedger::renew(const ElementId& id, const PacketCount& counter, Instant now) {
  read(id, counter, now);
  if (auto* known = account(id)) known->before += std::exchange(known->counter, {});
}

void CounterLedger::lose(const ElementId& id, Instant now) {
  auto* known = account(id);
  if (known == nullptr) return;
  known->before += std::exchange(known->counter, {});
  known->complete_since = known->read_at = now;
}

void CounterLedger::read(const ElementId& id, const PacketCount& counter, Instant now) {
  auto* known = account(id);
  if (known == nullptr) return;
  // Another program has set it to 0.
  if (counter.packets < known->counter.packets) {
    known->before += std::exchange(known->counter, {});
    known->complete_since = now;
  }
  if (counter.packets != known->counter.packets) known->last_packet = {known->read_at, now};
  known->counter = counter;
  known->read_at = now;
}

const CounterLedger::Account* CounterLedger::find(const ElementId& id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &accounts_[found->second];
}

std::optional<CounterLedger::Share> CounterLedger::share_of(const ElementId& id,
                                                            PolicyRuleId pid) const {
  const auto* known = find(id);
  if (known == nullptr) return std::nullopt;
  Share share{known->total(), known->last_packet, known->complete_since, known->read_at};
  const auto found = joined_.find(id);
  if (found == joined_.end()) return share;
  const auto joined = std::ranges::find(found->second, pid, &Joined::pid);
  if (joined == found->second.end()) return share;
  share.count.packets -= joined->before.packets;
  share.count.octets -= joined->before.octets;
  share.complete_since = std::max(share.complete_since, joined->since);
  auto& last = share.last_packet;
  if (last && last->until <= joined->since) last.reset();
  if (last) last->after = std::max(last->after, joined->since);
  return share;
}

CounterLedger::Account* CounterLedger::account(const ElementId& id) {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &accounts_[found->second];
}

}  // namespace simco::backend::nftables
