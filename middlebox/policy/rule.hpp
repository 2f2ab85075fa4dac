// A policy rule as stored in the table. There may be millions, so every byte counts.
#pragma once

#include <cstdint>

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

/// A reserve, enable or disable rule.
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

}  // namespace simco::policy
