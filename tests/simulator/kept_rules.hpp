// A journal whose store is in memory and never fails: the rules that the next process would have.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "middlebox/commit/journal.hpp"

namespace simco::simulator {

class KeptRules final : public middlebox::Clock,
                        private middlebox::Journal::Writer,
                        private middlebox::Journal::Monitor {
 public:
  middlebox::Journal* journal() { return &journal_; }
  /// Must be called before the journal is used.
  void set_time(std::function<Instant()> time) { time_ = std::move(time); }
  store::Contents contents() const {
    store::Contents result;
    for (const auto& [pid, octets] : entries_) result.entries.push_back({{pid}, octets});
    result.counters = counters_;
    return result;
  }

  // Clock
  Instant now() const override { return time_(); }
  std::int64_t wall_ms() const override {
    using std::chrono::milliseconds;
    return std::chrono::duration_cast<milliseconds>(now().time_since_epoch()).count();
  }

 private:
  void write(store::Batch batch, Done done) override {
    for (auto& entry : batch.entries) {
      if (entry.octets.empty()) {
        entries_.erase(entry.pid.value);
      } else {
        entries_[entry.pid.value] = std::move(entry.octets);
      }
    }
    counters_ = batch.counters;
    done(std::nullopt);
  }
  void on_store_failing(const std::string&) override {}
  void on_store_working() override {}
  void on_store_taken() override {}
  void on_store_lost() override {}

  std::function<Instant()> time_;
  std::map<std::uint32_t, std::string> entries_;
  store::Counters counters_;
  middlebox::Journal journal_{*this, *this, *this};
};

}  // namespace simco::simulator
