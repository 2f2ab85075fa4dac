#include "middlebox/policy/rule_status.hpp"

namespace simco::policy {

AddressTuple outside_of(const RuleBook& book, RuleSlot slot) {
  const Rule& rule = book.rules[slot];
  // 8.3.2: a pure firewall reports the internal tuple as outside and the external tuple as inside.
  return book.nat.translates() ? book.nat.outside(slot, rule)
                               : at(rule.internal, Location::kOutside);
}

std::optional<AddressTuple> inside_of(const RuleBook& book, RuleSlot slot) {
  const Rule& rule = book.rules[slot];
  if (book.nat.mode() == Mode::kTwiceNat) return book.nat.inside(slot, rule);
  if (book.nat.mode() == Mode::kTraditionalNat) return std::nullopt;
  return at(rule.external, Location::kInside);
}

// 8.2.2 on a firewall: nothing but the protocol; 8.2.3 on a NAT: the reserved tuples.
PrrReply reserve_reply(const RuleBook& book, RuleSlot slot, Lifetime lifetime) {
  const Rule& rule = book.rules[slot];
  PrrReply reply{rule.pid, rule.group, lifetime, {}, {}};
  if (book.nat.translates()) {
    reply.outside = outside_of(book, slot);
    reply.inside = inside_of(book, slot);
  } else {
    // Not from the tuples as they are: a PEA may be about to change them.
    const auto tuple = any_address(rule.internal.ip_version, rule.internal.protocol);
    reply.outside = at(tuple, Location::kOutside);
  }
  return reply;
}

PerReply enable_reply(const RuleBook& book, RuleSlot slot, Lifetime lifetime) {
  const Rule& rule = book.rules[slot];
  return {rule.pid, rule.group, lifetime, outside_of(book, slot), inside_of(book, slot)};
}

Body status_reply(const RuleBook& book, RuleSlot slot, Instant now) {
  const Rule& rule = book.rules[slot];
  const Owner owner{OctetsView::of(book.agents[rule.owner].name)};
  const Lifetime left = remaining(rule, now);
  switch (rule.kind) {
    case RuleKind::kReserve: {
      const auto same = reserve_reply(book, slot, left);
      return PrsReply{same.pid, same.group, same.lifetime, same.outside, same.inside, owner};
    }
    case RuleKind::kDisable: return PdsReply{rule.pid, rule.internal, rule.external, left, owner};
    case RuleKind::kEnable: break;
  }
  // Figure 35 has all four tuples: on a traditional NAT, inside equals external.
  const auto inside = inside_of(book, slot).value_or(at(rule.external, Location::kInside));
  return PesReply{rule.pid,      rule.group, rule.parameters,
                  rule.internal, inside,     outside_of(book, slot),
                  rule.external, left,       owner};
}

void describe(const RuleBook& book, RuleSlot slot, rule::RuleRecord& record) {
  const Rule& rule = book.rules[slot];
  record.pid = rule.pid;
  record.group = rule.group;
  record.owner = rule.owner;
  record.owner_name = book.agents[rule.owner].name;
  record.creating_tid = rule.creating_tid;
  record.kind = rule.kind;
  record.any_version = rule.any_version;
  record.parameters = rule.parameters;
  record.internal = rule.internal;
  record.external = rule.external;
  record.expires_at = rule.expires_at;
  if (book.nat.translates() && rule.kind != RuleKind::kDisable) {
    record.outside = outside_of(book, slot);
    record.inside = inside_of(book, slot);
    record.binding_ages = book.nat.ages(slot, rule);
  }
}

}  // namespace simco::policy
