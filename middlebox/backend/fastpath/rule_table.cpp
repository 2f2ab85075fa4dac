#include "middlebox/backend/fastpath/rule_table.hpp"

#include <type_traits>

namespace simco::backend::fastpath {

static_assert(std::is_same_v<SlotTable<fp_slot4>::Cell, SlotTable<fp_slot6>::Cell>);

void RuleTable::put(const rule::RuleRecord& rule, Instant now) {
  entries_.clear();
  make_entries(rule, entries_);
  cells_.clear();
  for (const auto& entry : entries_) {
    auto* const cell = entry.version == IpVersion::kIpv4 ? table4_.prepare(entry, rule.pid, now)
                                                         : table6_.prepare(entry, rule.pid, now);
    if (cell != nullptr) cells_.push_back(cell);
  }
  for (auto* const cell : cells_) SlotTable<fp_slot4>::begin(cell, rule.expires_at);
}

void RuleTable::take_out(const rule::RuleRecord& rule, Instant now) {
  entries_.clear();
  make_entries(rule, entries_);
  for (const auto& entry : entries_) {
    if (entry.version == IpVersion::kIpv4)
      table4_.end(entry, rule.pid, now);
    else
      table6_.end(entry, rule.pid, now);
  }
}

}  // namespace simco::backend::fastpath
