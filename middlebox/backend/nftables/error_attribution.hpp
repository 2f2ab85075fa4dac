// What follows when the kernel has not carried out a commit: the next attempt, and which changes of
// a batch are at fault. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"

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

/// A kernel error for a message.
struct MessageError {
  std::uint32_t sequence = 0;
  int error = 0;  ///< errno
};

/// A message of a commit in which each change has messages of its own.
struct ChangeMessage {
  std::uint32_t sequence = 0;
  std::uint32_t change = 0;
  bool removal = false;
  Instant expires_at{};    ///< of a removal: when the first of its elements ends by itself
  bool uncertain = false;  ///< it was written as if its elements might be gone
};

/// The changes of a commit that errors blame.
struct Attribution {
  struct Refusal {
    std::uint32_t change;
    int error;  ///< errno
  };
  std::vector<Refusal> refused;          ///< changes that the kernel does not take
  std::vector<std::uint32_t> uncertain;  ///< changes whose elements are not all there
  /// Elements are missing that had not expired: another program has removed them.
  bool foreign_removal = false;

  /// Returns whether any change was found at fault.
  bool any() const { return !refused.empty() || !uncertain.empty(); }
};

/// Returns the changes that `errors` of a commit of `messages`, which came at `now`, blame. A
/// change may be uncertain more than once, and is refused once, for its first error.
Attribution attribute_errors(std::span<const MessageError> errors,
                             std::span<const ChangeMessage> messages, Instant now);

/// Returns the result for an agent whose change the kernel refuses with `error`, an errno.
rule::ChangeResult result_for(int error);

}  // namespace simco::backend::nftables
