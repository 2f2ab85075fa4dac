// The rules with all that keeps them: the engine decides, the pipeline commits through journal and
// backend.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/commit/pipeline.hpp"
#include "middlebox/commit/recovery.hpp"

namespace simco::middlebox {

/// Belongs to one thread.
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
  /// Begins with the rules in `contents` (of the store called `place`). Throws as recover() does.
  Recovery start(const store::Contents& contents, const std::string& place, const Clock& clock,
                 Metrics* metrics);
  /// The store has lost all rules: has the journal write them again.
  void restore_store();
  /// Returns what those of the rules have counted that are in force, if the backend counts.
  std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> traffic(
      std::span<const PolicyRuleId> pids);

  /// Returns when on_deadline() must be called, if at all. Calling it earlier is harmless.
  std::optional<Instant> deadline() const;
  void on_deadline(Instant now);

 private:
  Journal* journal_;
  backend::Backend& backend_;
  policy::PolicyEngine engine_;
  CommitPipeline pipeline_;
};

}  // namespace simco::middlebox
