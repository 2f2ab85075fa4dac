#include "middlebox/policy/recover.hpp"

#include "middlebox/policy/planned_change.hpp"
#include "middlebox/policy/traffic.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

std::expected<Plan, std::string> recover(RuleBook& book, const rule::RuleRecord& record,
                                         Lifetime lifetime) {
  const auto lost = [](const char* why) { return std::unexpected<std::string>(why); };
  const bool grouped = record.kind != RuleKind::kDisable;
  if (record.pid.value == 0 || book.rules.find(record.pid) != kNoSlot)
    return lost("its PID is taken");
  if (record.owner_name.size() > kOwnerSizeMax) return lost("its owner's name is too long");
  if (grouped && record.group.value == 0) return lost("it has no group");
  const bool translated = book.nat.translates() && grouped;
  if (record.outside.has_value() != translated ||
      record.inside.has_value() != (translated && book.nat.mode() == Mode::kTwiceNat)) {
    return lost("it belongs to another kind of middlebox (firewall, NAT or twice NAT)");
  }
  const AgentId owner = book.agents.acquire(record.owner_name);
  const RuleSlot slot = book.place(record.pid, book.pids.position_of(record.pid.value), owner,
                                   record.creating_tid, record.kind);
  Rule& rule = book.rules[slot];
  rule.internal = record.internal;
  rule.external = record.external;
  rule.parameters = record.parameters;
  rule.any_version = record.any_version;
  if (record.kind == RuleKind::kEnable) {
    book.quotas.set_elements(slot, book.elements_for(record.internal, record.external));
  } else if (record.kind == RuleKind::kDisable) {
    book.quotas.set_elements(slot, elements_of(record.internal, record.external, 0));
  }
  if (grouped) {
    rule.group = record.group;
    if (book.groups.owner(record.group)) {
      book.groups.join(record.group);
    } else {
      book.groups.restore(record.group, owner);
      book.agents.hold(owner);
    }
  }
  book.agents.release(owner);  // the rule holds it now
  if (translated &&
      !book.nat.reclaim(slot, rule, record.outside, record.inside, record.binding_ages)) {
    book.destroy(slot);
    return lost("its addresses or ports are no longer in the pools");
  }
  if (!grouped) book.disable_rules.plan(slot);
  Plan plan;
  plan.verdict =
      plan_change(book, slot, rule::RuleChange::Kind::kAdd, lifetime, record.expires_at, plan);
  return plan;
}

}  // namespace simco::policy
