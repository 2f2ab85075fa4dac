// A policy rule as it outlives the middlebox: everything that the engine needs to have it again,
// without anything that means something in one process only (slots, agent numbers, the monotonic
// clock).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "middlebox/backend/rule_change.hpp"
#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"

namespace simco::policy {

struct RuleRecord {
  PolicyRuleId pid;
  GroupId group;      ///< 0: in no group
  std::string owner;  ///< agent's name, and of the group
  TransactionId created_by;
  backend::RuleKind kind = backend::RuleKind::kEnable;
  PerParameterSet parameters;
  AddressTuple internal;                ///< A0
  AddressTuple external;                ///< A3
  std::optional<AddressTuple> outside;  ///< A2 of the NAT's pool
  std::optional<AddressTuple> inside;   ///< A1 of the twice NAT's pool
  bool any_version = false;             ///< of a reserve rule: a PEA may have either IP version
};

/// Where the sequences of identifiers stand (IdSequence): ids that were given out before a restart
/// are not given out again soon after.
struct IdPositions {
  std::uint64_t pids = 1;
  std::uint64_t groups = 1;
};

}  // namespace simco::policy
