// The backend that enforces nothing: for tests, for load measurements without a kernel, and for
// middleboxes whose rules something else carries out.
#pragma once

#include <vector>

#include "middlebox/backend/backend.hpp"

namespace simco::backend {

class NullBackend final : public Backend {
 public:
  std::string_view name() const override { return "null"; }
  Capabilities capabilities() const override { return full_packet_filter(); }
  std::vector<ChangeResult> begin(std::span<const RuleChange> rules) override {
    return std::vector(rules.size(), ChangeResult::kDone);
  }
  /// Reports at once that every change is done.
  void apply(std::span<const RuleChange> batch, Client& client) override {
    results_.assign(batch.size(), ChangeResult::kDone);
    client.on_applied(results_);
  }

 private:
  std::vector<ChangeResult> results_;
};

}  // namespace simco::backend
