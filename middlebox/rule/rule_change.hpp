// Changes of rules, in the words of the RFC. The policy engine creates them; journal and backends
// carry them out without asking the engine.
#pragma once

#include <cstdint>

#include "middlebox/rule/rule_record.hpp"

namespace simco::rule {

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
