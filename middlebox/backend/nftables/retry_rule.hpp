// Decides the next attempt when the kernel has not carried out a commit. Pure.
#pragma once

#include <cstdint>

#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {

/// The outcome of a commit. It takes effect as a whole or not at all.
enum class Outcome : std::uint8_t {
  kDone,    ///< everything in it has taken effect
  kStale,   ///< nothing has: another program changed the ruleset
  kFailed,  ///< nothing has, because of the errors
};

/// The attempts to carry out a commit.
class RetryRule {
 public:
  enum class Step : std::uint8_t {
    kReconcile,        ///< the table may not be as we know it: look at it, then plan again
    kBuildOnAny,       ///< the same, and then commit on any generation
    kAttributeErrors,  ///< a change is at fault
  };

  /// Returns the step after a commit that was not carried out. `built_on_any`: it named no
  /// generation of the ruleset, so the table may be gone.
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
