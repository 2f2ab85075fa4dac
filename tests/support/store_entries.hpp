// Entries of stores, as tests write them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "middlebox/store/store.hpp"

namespace simco::test {

inline store::Entry entry(std::uint32_t pid, const std::string& octets) {
  return {PolicyRuleId{pid}, octets};
}

inline std::vector<store::Entry> sorted(std::vector<store::Entry> entries) {
  std::ranges::sort(entries, {}, [](const store::Entry& one) { return one.pid; });
  return entries;
}

}  // namespace simco::test
