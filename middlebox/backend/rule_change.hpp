// What the policy engine asks of the place where rules are enforced, in the words of the RFC. The
// engine makes these, backends carry them out; neither knows the other.
#pragma once

#include <cstdint>

#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"

namespace simco::backend {

/// One atomic change of what is enforced. A value: it stays true however the rule table moves on.
struct RuleChange {
  enum class Kind : std::uint8_t {
    kEnable,       ///< let the described traffic pass, for `lifetime`
    kSetLifetime,  ///< the enabled rule now lives `lifetime` from here on, shorter or longer
    kRemove,       ///< stop the described traffic; lifetime is 0
  };
  Kind kind = Kind::kEnable;
  PolicyRuleId pid;
  PerParameterSet parameters;
  AddressTuple internal;  ///< A0 as requested, host bits not masked
  AddressTuple external;  ///< A3 as requested
  Lifetime lifetime;      ///< seconds; never more than the rule table grants
};

/// What became of a change.
enum class ChangeResult : std::uint8_t {
  kDone,         ///< enforced (or, after kRemove, no longer enforced)
  kRefused,      ///< not possible; nothing changed (0x034A)
  kNoResources,  ///< no room for it; nothing changed (0x0342)
};

}  // namespace simco::backend
