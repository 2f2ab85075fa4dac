// Where policy rules live: slots that never move, found by PID, and chained through links inside
// them (per owner, per moment of expiry). Memory is taken in chunks, so growing never copies a
// rule.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "middlebox/policy/id_map.hpp"
#include "middlebox/policy/rule.hpp"

namespace simco::policy {

class RuleTable {
 public:
  /// Rules in the table, pending ones included.
  std::size_t size() const { return by_pid_.size(); }

  Rule& operator[](RuleSlot slot) { return (*chunks_[slot.value / kChunk])[slot.value % kChunk]; }
  const Rule& operator[](RuleSlot slot) const {
    return (*chunks_[slot.value / kChunk])[slot.value % kChunk];
  }

  /// Slot of the rule with `pid`, or kNoSlot.
  RuleSlot find(PolicyRuleId pid) const {
    const RuleSlot* slot = by_pid_.find(pid.value);
    return slot == nullptr ? kNoSlot : *slot;
  }

  /// A fresh rule under `pid`, which is not in use.
  RuleSlot insert(PolicyRuleId pid);
  /// Forgets the rule; it is in no list any more.
  void erase(RuleSlot slot);

 private:
  static constexpr std::uint32_t kChunk = 1024;
  using Chunk = std::array<Rule, kChunk>;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint32_t fresh_ = 0;  ///< slots that were never used begin here
  RuleSlot free_ = kNoSlot;  ///< used before and free, chained by by_owner.next
  IdMap<RuleSlot> by_pid_;
};

/// A list of rules through one of their links. Does not own them.
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

/// Takes the rule in `slot` out of `list`, where it is.
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
