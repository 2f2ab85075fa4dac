// The rules of a middlebox, its own or another one's that it follows, and all that keeps them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/commit/following.hpp"
#include "middlebox/commit/pipeline.hpp"
#include "middlebox/commit/recovery.hpp"
#include "middlebox/observe/metrics.hpp"
#include "simco/wire/instant.hpp"

namespace simco::middlebox {

/// The engine decides, the pipeline commits through journal and backend. One thread at a time.
class RuleService {
 public:
  /// `journal` is nullptr if rules end with the process, `metrics` if nothing is counted. All
  /// arguments must outlive this.
  RuleService(const policy::PolicyEngine::Options& options, Journal* journal,
              backend::Backend& backend, CommitPipeline::Observer& observer, Metrics* metrics)
      : journal_(journal),
        backend_(backend),
        engine_(options),
        pipeline_(engine_, journal, backend, observer, metrics) {}

  policy::PolicyEngine& engine() { return engine_; }
  const policy::PolicyEngine& engine() const { return engine_; }
  CommitPipeline& pipeline() { return pipeline_; }

  /// Begins to enforce rules, without any. Throws as Backend::begin() does.
  void start() { backend_.begin({}); }
  /// Begins with the rules in `contents` (of the store called `place`). If that is not ours, they
  /// are another middlebox's, and followed until take_over(). Throws as recover() does.
  Recovery start(const store::Contents& contents, const std::string& place, const Clock& clock,
                 Metrics* metrics);
  /// While following: nullptr otherwise.
  Following* following() { return following_ ? &*following_ : nullptr; }
  const Following* following() const { return following_ ? &*following_ : nullptr; }
  /// While following: packets may pass until then.
  void lease(Instant until) {
    lease_ = until;
    backend_.lease(until);
  }
  bool enforces() const { return backend_.enforces(); }
  bool has_lease(Instant now) const { return following_ && lease_ > now; }
  /// The store is ours from now on.
  void take_over(Instant now);
  /// As CommitPipeline::advance(), with the changes of another middlebox.
  bool advance(Instant now);
  /// The store has lost all rules: has the journal write them again.
  void restore_store();
  /// Returns what those of the rules have counted that are in force, if the backend counts.
  std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> traffic(
      std::span<const PolicyRuleId> pids);

  /// Returns when on_deadline() must be called, if at all. Calling it earlier is harmless.
  std::optional<Instant> deadline() const;
  void on_deadline(Instant now);

 private:
  /// False while the other middlebox's changes wait: they must not wait for many expired rules.
  bool expires() const { return !following_ || following_->all_begun(); }

  Journal* journal_;
  backend::Backend& backend_;
  policy::PolicyEngine engine_;
  CommitPipeline pipeline_;
  std::optional<Following> following_;
  Instant lease_{};
};

}  // namespace simco::middlebox
