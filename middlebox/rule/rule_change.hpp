// Policy rules as values, their traffic, and their changes, in the words of the RFC, as the parts
// of the middlebox pass them to each other. The policy engine creates changes; journal and backends
// carry them out without asking the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/packet_count.hpp"

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

/// The counts of an internal port.
struct PortCount {
  std::uint16_t port = 0;
  PacketCount count;
};

/// The time of a packet between two readings of a counter: after the first, and until the second.
struct PacketTime {
  Instant after;
  Instant until;
};

/// Traffic that a rule has let pass, or blocked, as far as a backend counts it: both directions
/// together. Counts are of packets that met this rule, not an earlier rule that
/// they match as well.
struct RuleTraffic {
  PacketCount count;
  std::optional<PacketTime> last_packet;  ///< nullopt: none has been seen
  /// Everything since then is counted. Earlier packets may be missing.
  Instant complete_since;
  Instant read_at;               ///< the counters were read then, or later
  std::vector<PortCount> ports;  ///< by internal port, if the rule has few and names them
};

/// An atomic change of a rule. Independent of later changes of the rule table; only the owner's
/// name is a view, which the rule keeps alive.
struct RuleChange {
  enum class Kind : std::uint8_t {
    kAdd,          ///< begin to enforce the rule
    kReplace,      ///< the reserve rule of this PID becomes an enable rule
    kSetLifetime,  ///< the rule now ends at another time, sooner or later
    kRemove,       ///< stop enforcing the rule
  };
  Kind kind = Kind::kAdd;
  Lifetime lifetime;  ///< granted, seconds from the decision on; 0 with kRemove
  RuleRecord before;  ///< the rule until then; PID 0 with kAdd
  RuleRecord after;   ///< the rule from then on; PID 0 with kRemove

  /// Returns the rule that is changed: as it will be or, if it is being removed, as it was.
  const RuleRecord& rule() const { return kind == Kind::kRemove ? before : after; }
};

/// The outcome of a change.
enum class ChangeResult : std::uint8_t {
  kDone,         ///< enforced (or, after kRemove, no longer enforced)
  kRefused,      ///< not possible; nothing changed (0x034A)
  kNoResources,  ///< no room for it; nothing changed (0x0342)
  kOverridden,   ///< a disable rule came into force before it was begun (0x0344); never a backend's
};

/// A change of a rule and its outcome, for the log and the metrics. Valid during a call.
struct Decision {
  const RuleChange& change;
  ChangeResult result = ChangeResult::kDone;
  std::string_view by;    ///< agent that requested it; empty: the lifetime expired, or see ended_by
  std::string_view peer;  ///< that agent's address
  PolicyRuleId ended_by;  ///< disable rule that ended it (RFC 4540 section 8.8); 0: none did
};

}  // namespace simco::rule
