#include "middlebox/backend/null_backend.hpp"

namespace simco::backend {

Capabilities NullBackend::capabilities() const {
  Capabilities all;
  all.packet_filter = true;
  all.internal_wildcards = true;
  all.external_wildcards = true;
  all.port_wildcards = true;
  all.internal_versions = 3;
  all.external_versions = 3;
  return all;
}

void NullBackend::apply(std::span<const RuleChange> batch, Client& client) {
  results_.assign(batch.size(), ChangeResult::kDone);
  client.on_applied(results_);
}

}  // namespace simco::backend
