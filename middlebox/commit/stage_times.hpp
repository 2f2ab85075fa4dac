// Reports the times of the commit pipeline to the metrics, if there are any.
#pragma once

#include <algorithm>

#include "middlebox/commit/change_queue.hpp"
#include "middlebox/observe/metrics.hpp"

namespace simco::middlebox {

/// Reads the clock only if there are metrics.
class StageTimes {
 public:
  /// `metrics` may be nullptr.
  explicit StageTimes(Metrics* metrics) : metrics_(metrics) {}

  Instant now() const { return metrics_ == nullptr ? Instant{} : Metrics::Clock::now(); }
  /// A request that came at `began` has been decided.
  void decided(Instant began, Instant ended) {
    if (metrics_ != nullptr) metrics_->took(Phase::kDecide, ended - began);
  }
  void batch_begins(const ChangeBatch& batch) {
    if (metrics_ == nullptr) return;
    batch_began_ = now();
    metrics_->batch(batch.size());
    for (const auto& origin : batch.origins) {
      if (origin.requester != nullptr) {
        metrics_->took(Phase::kQueue, batch_began_ - origin.planned_at);
      }
    }
  }
  void batch_ended(const ChangeBatch& batch) {
    if (metrics_ == nullptr) return;
    const auto asked = std::ranges::count_if(
        batch.origins, [](const auto& origin) { return origin.requester != nullptr; });
    metrics_->batch_took(now() - batch_began_, static_cast<std::size_t>(asked));
  }
  void settled(const rule::Decision& decision) {
    if (metrics_ != nullptr) metrics_->decided(decision);
  }
  void replied(policy::Transaction transaction, const Body& reply) {
    if (metrics_ != nullptr) metrics_->replied(transaction, reply);
  }

 private:
  Metrics* metrics_;
  Instant batch_began_{};
};

}  // namespace simco::middlebox
