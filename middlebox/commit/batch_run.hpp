// A batch of changes on its way: journal, enforce, and take back from the store what was refused.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "middlebox/commit/journal.hpp"

namespace simco::middlebox {

/// Carries out one batch at a time. Belongs to one thread.
class BatchRun final : private backend::Backend::Client, private Journal::Client {
 public:
  /// `journal` may be nullptr. `on_answer` is called when journal or backend have answered: then
  /// advance() has something to do. It may be called from inside begin() and advance().
  BatchRun(Journal* journal, backend::Backend& backend, std::function<void()> on_answer)
      : journal_(journal), backend_(backend), on_answer_(std::move(on_answer)) {}

  bool idle() const { return stage_ == Stage::kIdle; }
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

  void on_journaled(const Journal::Failure& failure) override;
  void enforce();
  void enforce_removals();
  void on_applied(std::span<const rule::ChangeResult> results) override;
  void take_back();

  Journal* journal_;
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
