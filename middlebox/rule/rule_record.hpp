// A policy rule as a value, as the parts of the middlebox pass it to each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::rule {

/// Number of an agent that owns rules or has a session; the same as long as it does. Meaningless in
/// another process.
using AgentId = StrongId<struct AgentIdTag>;

/// The kinds of policy rules. Its PID is RESERVED for a reserve rule and ENABLED for the others
/// (RFC 4540 section 8.1, figure 42).
enum class RuleKind : std::uint8_t {
  kReserve,  ///< holds addresses and ports of a NAT; lets nothing pass
  kEnable,   ///< lets traffic pass, translated if the middlebox is a NAT
  kDisable,  ///< blocks traffic, even that of enable rules
};

/// When bindings of an enable rule were made, as numbers that grow: of several bindings of an
/// endpoint, further rules share the oldest. 0: not shared.
struct BindingAges {
  std::uint64_t outside = 0;
  std::uint64_t inside = 0;
  friend bool operator==(const BindingAges&, const BindingAges&) = default;
};

struct RuleRecord {
  PolicyRuleId pid;             ///< 0: no rule
  GroupId group;                ///< 0: in no group
  AgentId owner;                ///< of the rule and of its group
  std::string_view owner_name;  ///< valid while the rule exists
  TransactionId creating_tid;   ///< TID of the request that created it
  RuleKind kind = RuleKind::kEnable;
  bool any_version = false;    ///< of a reserve rule: a PEA may have either IP version
  PerParameterSet parameters;  ///< of an enable rule
  AddressTuple internal;       ///< A0 as requested, host bits not masked; not of a reserve rule
  AddressTuple external;       ///< A3 as requested
  std::optional<AddressTuple> outside;  ///< A2 that a NAT has taken from its pool
  std::optional<AddressTuple> inside;   ///< A1 that a twice NAT has taken from its pool
  BindingAges binding_ages;             ///< of outside and inside
  Instant expires_at;                   ///< when its lifetime ends
};

/// Where the sequences of identifiers stand (policy::IdSequence): ids that were given out before a
/// restart are not given out again soon after.
struct IdPositions {
  std::uint64_t pids = 1;
  std::uint64_t groups = 1;
};

}  // namespace simco::rule
