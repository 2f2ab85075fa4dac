// What the policy engine asks of the place where rules are enforced, in the words of the RFC. The
// engine makes these, backends carry them out; neither knows the other.
#pragma once

#include <cstdint>
#include <optional>

#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"

namespace simco::backend {

/// What a policy rule does. Its PID is RESERVED for a reserve rule and ENABLED for the others
/// (RFC 4540 section 8.1, figure 42).
enum class RuleKind : std::uint8_t {
  kReserve,  ///< holds addresses and ports of a NAT; lets nothing pass
  kEnable,   ///< lets traffic pass, translated where the middlebox is a NAT
  kDisable,  ///< stops traffic, whatever enable rules there are
};

/// One atomic change of what is enforced. A value: it stays true however the rule table moves on.
struct RuleChange {
  enum class Kind : std::uint8_t {
    kAdd,          ///< begin to enforce the rule, for `lifetime`
    kReplace,      ///< the reserve rule of this PID becomes the enable rule that is described
    kSetLifetime,  ///< the rule now lives `lifetime` from here on, shorter or longer
    kRemove,       ///< stop enforcing the rule; lifetime is 0
  };
  Kind kind = Kind::kAdd;
  RuleKind rule = RuleKind::kEnable;
  PolicyRuleId pid;
  PerParameterSet parameters;  ///< of an enable rule
  AddressTuple internal;       ///< A0 as requested, host bits not masked; not of a reserve rule
  AddressTuple external;       ///< A3 as requested
  std::optional<AddressTuple> outside;  ///< A2 that a NAT has taken from its pool
  std::optional<AddressTuple> inside;   ///< A1 that a twice NAT has taken from its pool
  Lifetime lifetime;                    ///< seconds; never more than the rule table grants
  /// Whose rule it is: a number that is the agent's as long as it has rules. Nobody has more than a
  /// share of what is scarce.
  std::uint32_t owner = 0;
};

/// What became of a change.
enum class ChangeResult : std::uint8_t {
  kDone,         ///< enforced (or, after kRemove, no longer enforced)
  kRefused,      ///< not possible; nothing changed (0x034A)
  kNoResources,  ///< no room for it; nothing changed (0x0342)
};

}  // namespace simco::backend
