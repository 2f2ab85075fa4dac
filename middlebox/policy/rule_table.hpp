// The policy rules: slots that never move, found by PID, and chained by links in the rules (per
// owner, per time of expiry). Memory is allocated in chunks, so growing never copies a rule.
#pragma once

#include <cstddef>
#include <vector>

#include "middlebox/policy/id_map.hpp"
#include "middlebox/policy/rule.hpp"

namespace simco::policy {

/// All rules. Not thread-safe.
class RuleTable {
 public:
  /// Rules in the table, pending ones included.
  std::size_t size() const { return by_pid_.size(); }

  Rule& operator[](RuleSlot slot) { return chunks_[slot.value / kChunk][slot.value % kChunk]; }
  const Rule& operator[](RuleSlot slot) const {
    return chunks_[slot.value / kChunk][slot.value % kChunk];
  }

  /// Returns the slot of the rule with `pid`, or kNoSlot.
  RuleSlot find(PolicyRuleId pid) const {
    const RuleSlot* slot = by_pid_.find(pid.value);
    return slot == nullptr ? kNoSlot : *slot;
  }

  /// Adds a rule under `pid`, which must not be in use, and returns its slot.
  RuleSlot insert(PolicyRuleId pid);
  /// Every rule is in a slot below this number. PIDs are never 0, and free slots have PID 0.
  std::uint32_t slots_end() const { return fresh_; }
  /// Removes the rule, which must not be in any list.
  void erase(RuleSlot slot);

 private:
  static constexpr std::uint32_t kChunk = 1024;

  std::vector<std::vector<Rule>> chunks_;  ///< each of kChunk rules, which never move
  std::uint32_t fresh_ = 0;                ///< slots that were never used begin here
  RuleSlot free_ = kNoSlot;                ///< used before and free, chained by by_owner.next
  IdMap<RuleSlot> by_pid_;
};

/// A list of rules through a link of theirs. Does not own them.
struct RuleList {
  RuleSlot first = kNoSlot;
  RuleSlot last = kNoSlot;
  bool empty() const { return first == kNoSlot; }
};

/// Appends the rule in `slot` to `list`.
template <RuleLink Rule::* Link>
void append(RuleTable& rules, RuleList& list, RuleSlot slot) {
  rules[slot].*Link = {list.last, kNoSlot};
  if (list.empty()) {
    list.first = slot;
  } else {
    (rules[list.last].*Link).next = slot;
  }
  list.last = slot;
}

/// Removes the rule in `slot` from `list`, which must contain it.
template <RuleLink Rule::* Link>
void unlink(RuleTable& rules, RuleList& list, RuleSlot slot) {
  const RuleLink link = rules[slot].*Link;
  if (link.previous == kNoSlot) {
    list.first = link.next;
  } else {
    (rules[link.previous].*Link).next = link.next;
  }
  if (link.next == kNoSlot) {
    list.last = link.previous;
  } else {
    (rules[link.next].*Link).previous = link.previous;
  }
  rules[slot].*Link = {};
}

}  // namespace simco::policy
