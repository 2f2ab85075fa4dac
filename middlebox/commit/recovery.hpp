// The start with a store: the rules from before the restart are in the engine and enforced again.
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

/// What became of the rules in the store.
struct Recovery {
  std::size_t live = 0;
  std::size_t expired = 0;
  std::size_t lost = 0;                 ///< that could not be re-created; each is logged
  std::vector<PolicyRuleId> forgotten;  ///< the expired and the lost ones
};

/// Gives the engine the rules in `contents` (read from `place`), and has the backend begin with
/// them. Throws StoreError if one of them cannot be read, std::runtime_error as Backend::begin().
/// To be called once, before the first request. `metrics` may be nullptr.
Recovery recover(const store::Contents& contents, const std::string& place,
                 policy::PolicyEngine& engine, backend::Backend& backend, const Clock& clock,
                 Metrics* metrics);

}  // namespace simco::middlebox
