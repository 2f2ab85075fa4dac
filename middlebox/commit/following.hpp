// Rules of another middlebox, which this one enforces beside it, so that it can take their place
// without a gap: the store tells which rules have changed, and engine and backend follow.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/commit/pipeline.hpp"
#include "middlebox/commit/recovery.hpp"
#include "middlebox/policy/engine.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "middlebox/store/store.hpp"

namespace simco::middlebox {

/// Belongs to one thread.
class Following {
 public:
  /// All must outlive this. `contents`: with what it began, and `recovery`: how.
  Following(policy::PolicyEngine& engine, CommitPipeline& pipeline, const Clock& clock,
            const store::Contents& contents, const Recovery& recovery);

  /// Called when what was taken has been carried out, or refused: `alike` if the backend then
  /// enforces exactly what the store has.
  using Done = std::function<void(bool alike)>;
  /// The owner of the store has written these. One at a time.
  void take(store::Changes changes, Done done) {
    batches_.push_back(std::move(changes.batch));
    owned_ = changes.owned;
    on_done_ = std::move(done);
  }
  /// Calls that `done` if it is due. `enforces`: whether the backend does. Returns false while
  /// there is something to carry out.
  bool report(bool enforces);
  /// The store is ours: when all is done, nothing more is to be followed.
  bool owned() const { return owned_; }
  /// Has the pipeline make the next changes, if it is idle. Returns true if there were any.
  bool advance();
  /// True if all that was taken has been begun, or refused.
  bool all_begun() const { return batches_.empty() && waiting_.empty(); }
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
  /// Returns false if nothing is left to do for the rule, or can be done.
  bool plan(Waiting& waiting);
  void lose(PolicyRuleId pid, const std::string& why);
  /// Has the rule tried again later.
  void put_off(PolicyRuleId pid, const std::string& octets);

  policy::PolicyEngine& engine_;
  CommitPipeline& pipeline_;
  const Clock& clock_;
  std::deque<store::Batch> batches_;  ///< not begun
  std::vector<Waiting> waiting_;      ///< of the batch begun
  std::set<PolicyRuleId> removing_;   ///< as the store no longer has them
  Entries making_;                    ///< being added or extended
  Entries refused_;                   ///< to be tried again
  std::set<PolicyRuleId> unlike_;     ///< enforced, or not, other than the store has it
  std::optional<Instant> retry_at_;
  std::set<PolicyRuleId> ended_;
  std::vector<std::string> losses_;
  Done on_done_;
  bool planned_ = false;
  bool owned_ = false;
};

}  // namespace simco::middlebox
