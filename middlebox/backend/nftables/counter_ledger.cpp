#include "middlebox/backend/nftables/counter_ledger.hpp"

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
  const auto place = found->second;
  index_.erase(found);
  if (place + 1 != accounts_.size()) {
    accounts_[place] = accounts_.back();
    index_[accounts_[place].id] = place;
  }
  accounts_.pop_back();
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

CounterLedger::Account* CounterLedger::account(const ElementId& id) {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &accounts_[found->second];
}

}  // namespace simco::backend::nftables
