#include "middlebox/backend/null_backend.hpp"

namespace simco::backend {

void NullBackend::apply(std::span<const RuleChange> batch, Client& client) {
  results_.assign(batch.size(), ChangeResult::kDone);
  client.on_applied(results_);
}

}  // namespace simco::backend
