// The policy rules: slots that never move, found by PID, and chained by links in the rules (per
// owner, per time of expiry). Memory is allocated in chunks, so growing never copies a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "middlebox/policy/id_map.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::policy {

/// Place of a rule in the table: stays the same for the life of the rule, then is reused.
using RuleSlot = StrongId<struct RuleSlotTag>;

inline constexpr RuleSlot kNoSlot{0xFFFF'FFFF};

using rule::AgentId;
using rule::RuleKind;

/// Neighbours in a list of rules.
struct RuleLink {
  RuleSlot previous = kNoSlot;
  RuleSlot next = kNoSlot;
};

/// A reserve, enable or disable rule. There may be millions, so every byte counts.
struct Rule {
  Instant expires_at;  ///< when its lifetime ends
  PolicyRuleId pid;
  std::uint32_t pid_epoch = 0;  ///< high half of the PID's position in the IdSequence
  GroupId group;
  AgentId owner;
  TransactionId
      creating_tid;  ///< TID of the request that created it: chooses the stream of its AREs
  RuleLink by_owner;
  RuleLink by_expiry;
  /// A0 and A3 as requested. For a reserve rule only IP version and protocol are set; the rest is
  /// wildcards.
  AddressTuple internal;
  AddressTuple external;
  PerParameterSet parameters;
  /// Number of elements that it takes in the backend, or is about to take.
  std::uint16_t elements = 0;
  RuleKind kind = RuleKind::kEnable;
  /// A change of it is with the backend: no other change may begin until that is settled.
  bool under_way = false;
  /// For a reserve rule: the agent left the IP version open (on a firewall), and the version in the
  /// tuples is only for the reply.
  bool any_version = false;
  /// Created, but not yet confirmed by the backend: no agent can see it.
  bool pending = false;
};

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
  RuleSlot insert(PolicyRuleId pid) {
    RuleSlot slot = free_;
    if (slot != kNoSlot) {
      free_ = (*this)[slot].by_owner.next;
      (*this)[slot] = Rule{};
    } else {
      if (fresh_ == chunks_.size() * kChunk) chunks_.emplace_back().reserve(kChunk);
      chunks_.back().emplace_back();
      slot = RuleSlot{fresh_++};
    }
    (*this)[slot].pid = pid;
    by_pid_.insert(pid.value, slot);
    return slot;
  }
  /// Every rule is in a slot below this number. PIDs are never 0, and free slots have PID 0.
  std::uint32_t slots_end() const { return fresh_; }
  /// Removes the rule, which must not be in any list.
  void erase(RuleSlot slot) {
    by_pid_.erase((*this)[slot].pid.value);
    (*this)[slot].pid = {};
    (*this)[slot].by_owner.next = free_;
    free_ = slot;
  }

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
