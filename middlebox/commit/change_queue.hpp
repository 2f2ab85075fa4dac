// The batch under way, the planned changes that wait for it, and the choice of the next batch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "middlebox/commit/journal.hpp"
#include "middlebox/commit/request_lines.hpp"
#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/rule_table.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::middlebox {

/// The request of a change, and the requester that gets its outcome.
struct ChangeOrigin {
  Requester* requester =
      nullptr;  ///< nullptr: the lifetime expired, or a disable rule ends the rule
  TransactionId tid;
  policy::Transaction transaction{};  ///< of the request, if there is one
  policy::RuleSlot slot;
  std::uint32_t weight = 0;  ///< policy::Plan::weight, and the cost of notifying sessions
  rule::AgentId agent;       ///< agent whose share of a batch it takes
  Instant planned_at{};      ///< for the metrics
};

/// Changes that are carried out together.
struct ChangeBatch {
  std::vector<rule::RuleChange> changes;
  std::vector<ChangeOrigin> origins;  ///< one for each change
  /// A disable rule was carried out before some of them although it was planned later.
  bool overtaken = false;

  std::size_t size() const { return changes.size(); }
  void clear() {
    changes.clear();
    origins.clear();
    overtaken = false;
  }
};

/// Changes in the order of planning.
class ChangeQueue {
 public:
  bool empty() const { return waiting_.changes.empty(); }
  std::size_t size() const { return waiting_.size(); }
  /// True if more is waiting than one batch can take without delaying other agents.
  bool heavy() const;
  /// Appends a change.
  void push(const rule::RuleChange& change, const ChangeOrigin& origin);
  /// Moves the next batch into `batch`: everything or, if the queue is heavy, the same share for
  /// each agent. The changes of one agent keep their order.
  void take(ChangeBatch& batch);

 private:
  /// The share of an agent in the batch that is being chosen.
  struct Share {
    std::uint64_t weight = 0;
    std::uint64_t count = 0;
  };
  void take_shares(ChangeBatch& batch);

  ChangeBatch waiting_;
  bool overtaken_ = false;    ///< by a disable rule, which may now block waiting changes
  std::uint64_t weight_ = 0;  ///< of the waiting changes
  std::unordered_map<rule::AgentId, Share> shares_;  ///< scratch
};

/// A batch of changes on its way: journal, enforce, and take back from the store what was refused.
/// Carries out one batch at a time. Belongs to one thread.
class BatchRun final : private backend::Backend::Client {
 public:
  /// `journal` may be nullptr. `on_answer` is called when journal or backend have answered: then
  /// advance() has something to do. It may be called from inside begin() and advance().
  BatchRun(Journal* journal, backend::Backend& backend, std::function<void()> on_answer)
      : journal_(journal), backend_(backend), on_answer_(std::move(on_answer)) {}

  bool idle() const { return stage_ == Stage::kIdle; }
  /// Replaces the journal: from the next batch on.
  void keep_in(Journal* journal) { next_journal_ = journal; }
  /// Begins with `changes`, at least one, which must stay as they are until end(). The store gets
  /// `ids` with them.
  void begin(std::span<const rule::RuleChange> changes, const rule::IdPositions& ids);
  /// Goes on as far as the answers have come. Returns true if that is all, once: then results() are
  /// valid until end().
  bool advance();
  /// One for each change.
  const std::vector<rule::ChangeResult>& results() const { return results_; }
  /// True if the store has failed: then nothing new is carried out.
  bool store_failed() const { return journal_failure_.has_value(); }
  void end() { stage_ = Stage::kIdle; }

 private:
  enum class Stage : std::uint8_t { kIdle, kJournal, kEnforce, kTakeBack };

  /// Has the journal keep `changes` in that state.
  void keep(std::span<const rule::RuleChange> changes, Journal::State state);
  void on_journaled(const Journal::Failure& failure);
  void enforce();
  void enforce_removals();
  void on_applied(std::span<const rule::ChangeResult> results) override;
  void take_back();

  Journal* journal_;  ///< of the batch under way
  Journal* next_journal_ = journal_;
  backend::Backend& backend_;
  std::function<void()> on_answer_;
  Stage stage_ = Stage::kIdle;
  bool answered_ = false;  ///< the answer that the stage waits for has come
  std::span<const rule::RuleChange> changes_;
  rule::IdPositions ids_;
  std::vector<rule::ChangeResult> results_;
  Journal::Failure journal_failure_;
  std::vector<rule::RuleChange> removals_;  ///< all that is carried out when the store fails
  std::vector<std::size_t> removals_at_;    ///< where they are in the batch
};

}  // namespace simco::middlebox
