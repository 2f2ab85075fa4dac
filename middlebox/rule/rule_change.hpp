// What the policy engine asks of the parts that carry its decisions out, in the words of the RFC.
// The engine makes these; journal and backends carry them out and never ask the engine.
#pragma once

#include <cstdint>

#include "middlebox/rule/rule_record.hpp"

namespace simco::rule {

/// One atomic change of a rule. A value: it stays true however the rule table moves on.
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

  /// The rule that the change is about: as it will be or, if it is being removed, as it was.
  const RuleRecord& rule() const { return kind == Kind::kRemove ? before : after; }
};

/// What became of a change.
enum class ChangeResult : std::uint8_t {
  kDone,         ///< enforced (or, after kRemove, no longer enforced)
  kRefused,      ///< not possible; nothing changed (0x034A)
  kNoResources,  ///< no room for it; nothing changed (0x0342)
  kOverridden,   ///< a disable rule came into force before it was begun (0x0344); never a backend's
};

/// A change of a rule and what became of it, for the log and the metrics. Valid during a call.
struct Decision {
  const RuleChange& change;
  ChangeResult result = ChangeResult::kDone;
  std::string_view by;  ///< agent that asked for it; empty: the lifetime was over, or see ended_by
  std::string_view peer;  ///< that agent's address
  PolicyRuleId ended_by;  ///< disable rule that ended it (RFC 4540 section 8.8); 0: none did
};

}  // namespace simco::rule
