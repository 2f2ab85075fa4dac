// Which changes of a batch are at fault when the kernel refuses it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::nftables {

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
