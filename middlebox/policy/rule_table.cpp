#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

RuleSlot RuleTable::insert(PolicyRuleId pid) {
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

void RuleTable::erase(RuleSlot slot) {
  by_pid_.erase((*this)[slot].pid.value);
  (*this)[slot].pid = {};
  (*this)[slot].by_owner.next = free_;
  free_ = slot;
}

}  // namespace simco::policy
