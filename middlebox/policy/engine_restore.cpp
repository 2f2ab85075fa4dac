// Rules that outlive the process: describing them for a store, and having them again.
#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

std::optional<RuleRecord> PolicyEngine::record(PolicyRuleId pid) const {
  const RuleSlot slot = rules_.find(pid);
  if (slot == kNoSlot) return std::nullopt;
  const Rule& rule = rules_[slot];
  RuleRecord record{rule.pid,        rule.group,      agents_[rule.owner].name,
                    rule.created_by, rule.kind,       rule.parameters,
                    rule.internal,   rule.external,   std::nullopt,
                    std::nullopt,    rule.any_version};
  if (const auto before = enabling_.find(slot); before != enabling_.end()) {
    // Not what a PEA under way would make of it.
    record.internal = record.external = before->second;
    record.parameters = {};
  }
  if (nat_.translates() && rule.kind != RuleKind::kDisable) {
    record.outside = outside_of(slot);
    record.inside = inside_of(slot);
  }
  return record;
}

void PolicyEngine::resume_ids(const IdPositions& positions) {
  SIMCO_ASSERT(rules_.size() == 0);
  pids_.resume(positions.pids);
  groups_.resume(positions.groups);
}

std::optional<std::string> PolicyEngine::restore(const RuleRecord& record, Lifetime lifetime,
                                                 Instant deadline, PlannedChange& change) {
  const bool grouped = record.kind != RuleKind::kDisable;
  if (record.pid.value == 0 || rules_.find(record.pid) != kNoSlot) return "its PID is taken";
  if (record.owner.size() > kOwnerSizeMax) return "its owner's name is too long";
  if (grouped && record.group.value == 0) return "it has no group";
  const bool translated = nat_.translates() && grouped;
  if (record.outside.has_value() != translated ||
      record.inside.has_value() != (translated && nat_.mode() == Mode::kTwiceNat)) {
    return "it is of another kind of middlebox";
  }
  const AgentId owner = agents_.acquire(record.owner);
  const RuleSlot slot = place_rule(record.pid, pids_.position_of(record.pid.value), owner,
                                   record.created_by, record.kind);
  Rule& rule = rules_[slot];
  rule.internal = record.internal;
  rule.external = record.external;
  rule.parameters = record.parameters;
  rule.any_version = record.any_version;
  if (record.kind == RuleKind::kEnable) {
    set_elements(slot, elements_for(record.internal, record.external));
  } else if (record.kind == RuleKind::kDisable) {
    set_elements(slot, elements_of(record.internal, record.external, 0));
  }
  if (grouped) {
    rule.group = record.group;
    if (groups_.owner(record.group)) {
      groups_.join(record.group);
    } else {
      groups_.restore(record.group, owner);
      agents_.hold(owner);
    }
  }
  agents_.release(owner);  // the rule holds it now
  if (translated && !nat_.take_again(slot, rule, record.outside, record.inside)) {
    destroy_rule(slot);
    return "the pools have no longer got what it holds";
  }
  if (!grouped) {
    ++unborn_disable_rules_;
    file_disable_rule(slot, true);
  }
  change = {slot, backend::RuleChange::Kind::kAdd, lifetime, deadline};
  return std::nullopt;
}

}  // namespace simco::policy
