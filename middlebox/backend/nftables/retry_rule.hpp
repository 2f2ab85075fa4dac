// Decides what to try next when the kernel has not carried out a commit. Pure.
#pragma once

#include <cstdint>

#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {

/// What became of a commit. It takes effect as a whole or not at all.
enum class Outcome : std::uint8_t {
  kDone,    ///< everything in it has taken effect
  kStale,   ///< nothing has: another program changed the ruleset
  kFailed,  ///< nothing has, because of the errors
};

/// The attempts to carry out one commit.
class RetryRule {
 public:
  enum class Step : std::uint8_t {
    kReconcile,        ///< the table may not be as we know it: look at it, then plan again
    kBuildOnAny,       ///< the same, and then commit whatever others do meanwhile
    kAttributeErrors,  ///< one of the changes is at fault
  };

  /// Returns what to do after a commit that was not carried out. `built_on_any`: it did not say
  /// which generation of the ruleset it builds on, so the table may be gone.
  Step after(Outcome outcome, bool built_on_any) {
    if (outcome == Outcome::kStale) {
      return ++stale_ < kStaleMax ? Step::kReconcile : Step::kBuildOnAny;
    }
    if (!built_on_any || looked_) return Step::kAttributeErrors;
    looked_ = true;
    stale_ = kStaleMax;
    return Step::kReconcile;
  }

 private:
  int stale_ = 0;
  bool looked_ = false;  ///< at the table, after a failure
};

}  // namespace simco::backend::nftables
