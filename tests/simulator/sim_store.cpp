#include "tests/simulator/sim_store.hpp"

#include <utility>

namespace simco::simulator {

void SimStore::write(store::Batch batch, Done done) {
  const auto number = ++begun_;
  under_way_ = std::move(batch);
  time_.after(random_.up_to_ms(10), [this, number, done = std::move(done)] {
    if (!under_way_ || number != begun_) return;  // the middlebox that wrote it is gone
    const auto written = std::exchange(under_way_, std::nullopt);
    failing_ = fails();
    if (failing_) {
      last_failure_ = time_.now();
      if (random_.one_in(2)) keep(*written);
      return done(store::StoreFailure{"simulated failure"});
    }
    keep(*written);
    last_success_ = number;
    done(std::nullopt);
  });
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
}

void SimStore::crash() {
  const auto lost = std::exchange(under_way_, std::nullopt);
  if (lost && random_.one_in(2)) keep(*lost);
}

store::Contents SimStore::contents() const {
  store::Contents result;
  for (const auto& [pid, octets] : entries_) result.entries.push_back({{pid}, octets});
  result.counters = counters_;
  return result;
}

}  // namespace simco::simulator
