// Rules of another middlebox, which this one enforces beside it, so that it can take their place
// without a gap: the store tells which rules have changed, and engine and backend follow.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/commit/pipeline.hpp"
#include "middlebox/policy/engine.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "middlebox/store/store.hpp"

namespace simco::middlebox {

/// Belongs to one thread.
class Following {
 public:
  /// All must outlive this. `ended`: rules in the store whose lifetimes are over.
  Following(policy::PolicyEngine& engine, CommitPipeline& pipeline, const Clock& clock,
            std::span<const PolicyRuleId> ended)
      : engine_(engine), pipeline_(pipeline), clock_(clock), ended_(ended.begin(), ended.end()) {}

  /// The owner of the store has written these.
  void take(store::Changes changes) {
    batches_.push_back(std::move(changes.batch));
    owned_ = changes.owned;
  }
  /// The store is ours: when all is done, nothing more is to be followed.
  bool owned() const { return owned_; }
  /// Whether it hears of the changes of the other middlebox.
  bool current() const { return current_; }
  void set_current(bool current) { current_ = current; }
  /// Has the pipeline make the next changes, if it is idle. Returns true if there were any.
  bool advance();
  /// True if all that was taken has been carried out, or refused.
  bool done() const { return batches_.empty() && waiting_.empty(); }
  /// Returns when advance() has something to do that was refused before.
  std::optional<Instant> deadline() const { return retry_at_; }
  /// A change was carried out, or could not be.
  void note(const rule::Decision& decision);

  /// Returns the rules that have ended here and that the store may still have.
  std::vector<PolicyRuleId> ended() const { return {ended_.begin(), ended_.end()}; }
  /// Returns a line for each rule that could not be enforced since the last call.
  std::vector<std::string> take_losses() { return std::exchange(losses_, {}); }

 private:
  /// What the store has for a rule, until the rule is like it.
  struct Waiting {
    store::Entry entry;
    int tries = 0;
  };
  using Entries = std::map<PolicyRuleId, std::string>;

  void begin(store::Batch batch);
  /// Returns false if the rule is as the store has it, or cannot be.
  bool plan(Waiting& waiting);
  void lose(PolicyRuleId pid, const std::string& why);

  policy::PolicyEngine& engine_;
  CommitPipeline& pipeline_;
  const Clock& clock_;
  std::deque<store::Batch> batches_;  ///< not begun
  std::vector<Waiting> waiting_;      ///< of the batch begun
  std::set<PolicyRuleId> removing_;   ///< as the store no longer has them
  Entries making_;                    ///< being added or extended
  Entries refused_;                   ///< by the backend, to be tried again
  std::optional<Instant> retry_at_;
  std::set<PolicyRuleId> ended_;
  std::vector<std::string> losses_;
  bool planned_ = false;
  bool owned_ = false;
  bool current_ = true;
};

}  // namespace simco::middlebox
