// A policy rule as the table keeps it. There may be millions: every octet counts.
#pragma once

#include <cstdint>

#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::policy {

/// Place of a rule in the table: stays with the rule for its life, then goes to another.
using RuleSlot = StrongId<struct RuleSlotTag>;

inline constexpr RuleSlot kNoSlot{0xFFFF'FFFF};

using rule::AgentId;
using rule::RuleKind;

/// Neighbours in a list of rules.
struct RuleLink {
  RuleSlot previous = kNoSlot;
  RuleSlot next = kNoSlot;
};

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
  /// A0 and A3 as requested. Of a reserve rule: only IP version and protocol count, the rest is
  /// wildcards.
  AddressTuple internal;
  AddressTuple external;
  PerParameterSet parameters;
  /// What it takes where it is enforced, or is about to.
  std::uint16_t elements = 0;
  RuleKind kind = RuleKind::kEnable;
  /// A change of it is with the backend: nobody else may change it until that is decided.
  bool under_way = false;
  /// Of a reserve rule: the IP version is only what the agent is told (a firewall, asked for any).
  bool any_version = false;
  /// Created, but not yet confirmed by the backend: nobody can see it.
  bool pending = false;
};

}  // namespace simco::policy
