// A store in memory: for tests, and the simplest example of a store.
#pragma once

#include <map>

#include "middlebox/store/store.hpp"

namespace simco::store {

/// The contents of a MemoryStore; outlives it, so that it can be opened again.
struct Memory {
  std::map<PolicyRuleId, std::string> entries;
  Counters counters;
};

/// Keeps nothing beyond its Memory; never fails.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(Memory& memory) : memory_(memory) {}

  std::string place() const override { return "memory"; }
  Contents open() override {
    Contents contents{{}, memory_.counters};
    for (const auto& [pid, octets] : memory_.entries) contents.entries.push_back({pid, octets});
    return contents;
  }
  void write(const Batch& batch) override {
    if (batch.all) memory_.entries.clear();
    for (const auto& [pid, octets] : batch.entries) {
      if (octets.empty()) {
        memory_.entries.erase(pid);
      } else {
        memory_.entries[pid] = octets;
      }
    }
    memory_.counters = batch.counters;
  }

 private:
  Memory& memory_;
};

}  // namespace simco::store
