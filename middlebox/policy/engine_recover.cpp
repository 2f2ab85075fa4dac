// Recovery: re-creates the rules from before a restart.
#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

using rule::RuleRecord;

void PolicyEngine::resume_ids(const rule::IdPositions& positions) {
  SIMCO_ASSERT(rules_.size() == 0);
  pids_.resume(positions.pids);
  groups_.resume(positions.groups);
}

std::expected<Plan, std::string> PolicyEngine::recover(const RuleRecord& record,
                                                       Lifetime lifetime) {
  const auto lost = [](const char* why) { return std::unexpected<std::string>(why); };
  const bool grouped = record.kind != RuleKind::kDisable;
  if (record.pid.value == 0 || rules_.find(record.pid) != kNoSlot) return lost("its PID is taken");
  if (record.owner_name.size() > kOwnerSizeMax) return lost("its owner's name is too long");
  if (grouped && record.group.value == 0) return lost("it has no group");
  const bool translated = nat_.translates() && grouped;
  if (record.outside.has_value() != translated ||
      record.inside.has_value() != (translated && nat_.mode() == Mode::kTwiceNat)) {
    return lost("it belongs to another kind of middlebox (firewall, NAT or twice NAT)");
  }
  const AgentId owner = agents_.acquire(record.owner_name);
  const RuleSlot slot = place_rule(record.pid, pids_.position_of(record.pid.value), owner,
                                   record.creating_tid, record.kind);
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
  if (translated && !nat_.reclaim(slot, rule, record.outside, record.inside, record.binding_ages)) {
    destroy_rule(slot);
    return lost("its addresses or ports are no longer in the pools");
  }
  if (!grouped) {
    ++pending_disable_rules_;
    file_disable_rule(slot, true);
  }
  Plan plan;
  plan.verdict = plan_change(slot, rule::RuleChange::Kind::kAdd, lifetime, record.expires_at, plan);
  return plan;
}

}  // namespace simco::policy
