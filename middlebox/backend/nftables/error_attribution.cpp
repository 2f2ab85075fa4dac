#include "middlebox/backend/nftables/error_attribution.hpp"

#include <algorithm>
#include <cerrno>

namespace simco::backend::nftables {

Attribution attribute_errors(std::span<const MessageError> errors,
                             std::span<const ChangeMessage> messages, Instant now) {
  Attribution result;
  for (const auto& [sequence, error] : errors) {
    const auto message = std::ranges::find(messages, sequence, &ChangeMessage::sequence);
    if (message == messages.end()) continue;
    const auto change = message->change;
    if (message->removal && error == ENOENT && !message->uncertain) {
      result.uncertain.push_back(change);
      // Or it expired before the kernel came to it; then no other program has removed it.
      if (message->expires_at > now + kKernelTick) result.foreign_removal = true;
    } else if (std::ranges::find(result.refused, change, &Attribution::Refusal::change) ==
               result.refused.end()) {
      result.refused.push_back({change, error});
    }
  }
  return result;
}

rule::ChangeResult result_for(int error) {
  switch (error) {
    case ENOMEM:
    case ENOSPC:
    case ENFILE:
    case EMSGSIZE:
    case ENOBUFS: return rule::ChangeResult::kNoResources;
    default: return rule::ChangeResult::kRefused;
  }
}

}  // namespace simco::backend::nftables
