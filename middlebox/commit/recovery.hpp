// Recovery: brings the rules from before a restart back into the engine and the backend.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "middlebox/clock.hpp"
#include "middlebox/policy/engine.hpp"
#include "middlebox/store/store.hpp"

namespace simco::middlebox {

class Metrics;

/// The outcome for the rules in the store.
struct Recovery {
  std::size_t live = 0;
  std::size_t expired = 0;
  std::vector<std::string> losses;      ///< why rules could not be re-created, a line for each
  std::vector<PolicyRuleId> lost;       ///< these
  std::vector<PolicyRuleId> forgotten;  ///< the expired and the lost ones
};

/// Re-creates the rules in `contents` (read from `place`) in the engine, and has the backend begin
/// with them. Throws StoreError if a rule cannot be read, and std::runtime_error as
/// Backend::begin() does. Must be called once, before the first request. `metrics` may be nullptr.
Recovery recover(const store::Contents& contents, const std::string& place,
                 policy::PolicyEngine& engine, backend::Backend& backend, const Clock& clock,
                 Metrics* metrics);

}  // namespace simco::middlebox
