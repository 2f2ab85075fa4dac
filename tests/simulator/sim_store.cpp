#include "tests/simulator/sim_store.hpp"

#include <utility>

#include "tests/simulator/fault.hpp"

namespace simco::simulator {

void SimStore::Access::write(store::Batch batch, Done done) {
  demand(owner_ != 0, "a middlebox that stands by writes to the store");
  const bool owned = owner_ == store_.owner_;
  auto writing =
      std::make_shared<Writing>(Writing{std::move(batch), owned ? ++store_.begun_ : store_.begun_});
  if (owned) store_.under_way_ = writing;
  store_.time_.after(store_.random_.up_to_ms(10),
                     [this, writing, done = std::move(done), alive = std::weak_ptr(alive_)] {
                       if (alive.expired()) return;  // the middlebox that wrote it is gone
                       done(store_.finish(*writing, owner_ == store_.owner_));
                     });
}

middlebox::Journal::Failure SimStore::finish(Writing& writing, bool owned) {
  if (!owned) {
    if (writing.kept.value_or(false)) return std::nullopt;
    return store::StoreFailure{"another middlebox has opened it", true};
  }
  under_way_.reset();
  failing_ = fails();
  if (failing_) {
    last_failure_ = time_.now();
    if (random_.one_in(2)) keep(writing.batch);
    return store::StoreFailure{"simulated failure"};
  }
  keep(writing.batch);
  last_success_ = writing.number;
  return std::nullopt;
}

bool SimStore::fails() {
  if (reliable_) return false;
  if (fails_ == 0 && random_.one_in(60)) fails_ = 1 + random_.below(8);
  return fails_ != 0 && fails_-- != 0;
}

void SimStore::keep(const store::Batch& batch) {
  for (const auto& entry : batch.entries) {
    if (entry.octets.empty()) {
      entries_.erase(entry.pid.value);
    } else {
      entries_[entry.pid.value] = entry.octets;
    }
  }
  counters_ = batch.counters;
  if (follower_) follower_(batch);
}

void SimStore::Access::claim() {
  owner_ = ++store_.owner_;
  const auto lost = std::exchange(store_.under_way_, nullptr);
  if (!lost) return;
  lost->kept = store_.random_.one_in(2);
  if (*lost->kept) store_.keep(lost->batch);
}

store::Contents SimStore::contents() const {
  store::Contents result;
  for (const auto& [pid, octets] : entries_) result.entries.push_back({{pid}, octets});
  result.counters = counters_;
  return result;
}

std::set<std::uint32_t> SimStore::pids() const {
  std::set<std::uint32_t> result;
  for (const auto& [pid, octets] : entries_) result.insert(pid);
  return result;
}

}  // namespace simco::simulator
