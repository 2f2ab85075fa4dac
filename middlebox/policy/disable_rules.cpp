// A disable rule ends the rules that it overlaps in bounded steps: first it asks the index of
// enable rules, and if that has too many entries to scan, it looks at all rules, slot by slot.
#include "middlebox/policy/disable_rules.hpp"

#include <utility>

#include "middlebox/policy/traffic.hpp"

namespace simco::policy {
namespace {

std::uint16_t key_of(IpVersion version, std::uint8_t protocol) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(version) << 8 | protocol);
}

}  // namespace

Traffic DisableRules::traffic(RuleSlot slot) const {
  return traffic_of(rules_[slot].internal, rules_[slot].external);
}

bool DisableRules::hits(const Traffic& wanted, RuleSlot slot) const {
  return overlap(wanted, traffic(slot));
}

RuleSlot DisableRules::enabled_overlap(const AddressTuple& internal, const AddressTuple& external,
                                       PolicyRuleId pid) const {
  const auto wanted = traffic_of(internal, external);
  RuleSlot result = kNoSlot;
  enabled_.find_any(wanted, [&](RuleSlot slot) {
    const bool other = rules_[slot].pid != pid && hits(wanted, slot);
    if (other) result = slot;
    return other;
  });
  return result;
}

// --- The life of a disable rule ----------------------------------------------------------------

void DisableRules::plan(RuleSlot slot) {
  ++pending_;
  file(slot, true);
}

void DisableRules::withdraw(RuleSlot slot) {
  SIMCO_ASSERT(pending_ > 0);
  --pending_;
  file(slot, false);
}

bool DisableRules::confirm(RuleSlot slot) {
  SIMCO_ASSERT(pending_ > 0);
  --pending_;
  return begin_search(slot);
}

bool DisableRules::begin_search(RuleSlot slot) {
  if (enabled_.empty() || held_) return false;
  ending_.try_emplace(rules_[slot].pid);
  ++searches_;
  return true;
}

void DisableRules::file(RuleSlot slot, bool in) {
  const auto blocked = traffic(slot);
  if (in) {
    blocking_.insert(slot, blocked);
  } else {
    blocking_.erase(slot, blocked);
  }
  if (!is_everything(blocked)) return;
  auto& blocks = total_blocks_[key_of(blocked.version, blocked.protocol)];
  in ? ++blocks : --blocks;
}

// --- Blocking ----------------------------------------------------------------------------------

DisableRules::Block DisableRules::block_on(const AddressTuple& internal,
                                           const AddressTuple& external) const {
  Block block;
  if (blocking_.empty()) return block;
  const auto wanted = traffic_of(internal, external);
  block.in_force = blocking_.find_any(wanted, [&](RuleSlot slot) {
    if (!hits(wanted, slot)) return false;
    if (rules_[slot].pending) block.pending = slot;
    return !rules_[slot].pending;
  });
  return block;
}

RuleSlot DisableRules::blocker(const AddressTuple& internal, const AddressTuple& external) const {
  const auto wanted = traffic_of(internal, external);
  RuleSlot result = kNoSlot;
  blocking_.find_any(wanted, [&](RuleSlot slot) {
    if (!hits(wanted, slot)) return false;
    result = slot;
    return true;
  });
  return result;
}

bool DisableRules::blocks_everything(IpVersion version, std::uint8_t protocol) const {
  const auto is_blocked = [&](std::uint8_t one) {
    const auto found = total_blocks_.find(key_of(version, one));
    return found != total_blocks_.end() && found->second != 0;
  };
  return is_blocked(kProtocolAny) || is_blocked(protocol);
}

// --- Ending ------------------------------------------------------------------------------------

// Each rule ends with its event, and its end is tried again should the backend fail to remove it.
// The disable rule is in force already, so none that it hits can be added meanwhile.
DisableStep DisableRules::search(PolicyRuleId pid, std::uint32_t looks, Instant now) {
  const RuleSlot slot = rules_.find(pid);
  Ending& ending = ending_.at(pid);
  SIMCO_ASSERT(ending.searching && rules_[slot].under_way);
  found_.clear();
  DisableStep step = look(ending, traffic(slot), looks);
  for (const RuleSlot other : found_) {
    if (end(other, pid, ending, now)) ++step.ended;
  }
  if (!step.found_all) return step;
  ending.searching = false;
  --searches_;
  rules_[slot].under_way = false;
  expiry_.add(slot);
  step.completed = complete_if_done(pid);
  return step;
}

DisableStep DisableRules::look(Ending& ending, const Traffic& wanted, std::uint32_t looks) {
  DisableStep step;
  if (!ending.next_slot) {
    auto budget = scan_max_;
    const auto is_hit = [&](RuleSlot other) { return hits(wanted, other); };
    step.found_all = enabled_.find_all(wanted, budget, is_hit, found_);
    step.looked = scan_max_ - budget;
    if (!step.found_all) found_.clear();
    ending.next_slot = 0;
    return step;
  }
  auto& next = *ending.next_slot;
  for (; step.looked < looks && next < rules_.slots_end(); ++step.looked, ++next) {
    const Rule& rule = rules_[RuleSlot{next}];
    const bool enables =
        rule.pid != PolicyRuleId{} && rule.kind == RuleKind::kEnable && !rule.pending;
    if (enables && hits(wanted, RuleSlot{next})) found_.push_back(RuleSlot{next});
  }
  step.found_all = next >= rules_.slots_end();
  return step;
}

/// True if this disable rule ends the rule in `slot`: the first that overlaps it does.
bool DisableRules::end(RuleSlot slot, PolicyRuleId pid, Ending& ending, Instant now) {
  const auto [ended_by, is_first] = ended_by_.try_emplace(slot, pid);
  if (!is_first) {
    auto& followers = ending_.at(ended_by->second).followers;
    if (followers.empty() || followers.back() != pid) {
      followers.push_back(pid);
      ++ending.followed;
    }
    return false;
  }
  ++ending.ending;
  if (rules_[slot].under_way) return true;  // whether that change succeeds or fails, the rule ends
  expiry_.remove(slot);
  expiry_.add_ended(slot, now);
  return true;
}

std::optional<PolicyRuleId> DisableRules::ended_by(RuleSlot slot) const {
  const auto found = ended_by_.find(slot);
  return found == ended_by_.end() ? std::nullopt : std::optional(found->second);
}

DisableRules::Ended DisableRules::note_ended(RuleSlot slot) {
  const auto ended = ended_by_.extract(slot);
  if (!ended) return {};
  Ended result{ended.mapped(), {}};
  auto& ending = ending_.at(result.by);
  SIMCO_ASSERT(ending.ending > 0);
  if (--ending.ending != 0) return result;
  const auto followers = std::exchange(ending.followers, {});
  if (complete_if_done(result.by)) result.completed.push_back(result.by);
  for (const auto follower : followers) {
    --ending_.at(follower).followed;
    if (complete_if_done(follower)) result.completed.push_back(follower);
  }
  return result;
}

/// Removes the state of the disable rule if it waits for nothing more. True if so.
bool DisableRules::complete_if_done(PolicyRuleId pid) {
  const auto found = ending_.find(pid);
  const auto& [searching, next, ending, followed, followers] = found->second;
  if (searching || ending != 0 || followed != 0) return false;
  ending_.erase(found);
  return true;
}

void DisableRules::check_counts() const {
  SIMCO_ASSERT(rules_.size() >= enabled_.size() + blocking_.size());
  SIMCO_ASSERT(blocking_.size() >= pending_);
  // A PDR waits for its search, or for rules that are being ended, each of them for one PDR.
  SIMCO_ASSERT(ending_.empty() == (ended_by_.empty() && searches_ == 0));
}

}  // namespace simco::policy
