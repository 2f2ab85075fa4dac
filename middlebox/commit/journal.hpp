// Keeps each change of a rule in a store before it is enforced, so that rules outlive the middlebox
// (write-ahead logging; the S of RFC 4540, 4.3.3).
//
// What a store that fails should know by now is the backlog: it goes with the next batch, or is
// tried again later.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "middlebox/store/store.hpp"

namespace simco::middlebox {

class Metrics;

/// Lives on one thread. Reads the clocks once a batch.
class Journal {
 public:
  using Failure = std::optional<store::StoreFailure>;

  /// Where batches go. See StoreThread.
  class Writer {
   public:
    /// Called once a batch is kept, or with the reason why it could not be.
    using Done = std::function<void(const Failure& failure)>;
    /// Writes `batch` after those before it, and calls `done` later from the journal's thread.
    virtual void write(store::Batch batch, Done done) = 0;

   protected:
    ~Writer() = default;
  };

  /// Waits for a batch.
  class Client {
   public:
    virtual void on_journaled(const Failure& failure) = 0;

   protected:
    ~Client() = default;
  };

  /// Hears how the store is.
  class Monitor {
   public:
    /// It begins to fail: new rules are refused until it works again.
    virtual void on_store_failing(const std::string& why) = 0;
    virtual void on_store_working() = 0;
    /// Another middlebox has claimed it. Nothing more can be carried out then, not even that a rule
    /// ends: its new owner would not know.
    virtual void on_store_taken() = 0;

   protected:
    ~Monitor() = default;
  };

  /// Which of a change's two records is to be kept.
  enum class State : std::uint8_t { kBefore, kAfter };

  /// All must outlive this; so must `metrics`, if there are any.
  Journal(Writer& writer, const Clock& clock, Monitor& monitor, Metrics* metrics = nullptr);

  /// Keeps what `changes` make of their rules, or have made of them until now, and where the
  /// identifiers stand. One batch at a time.
  void keep(std::span<const rule::RuleChange> changes, State state, const rule::IdPositions& ids,
            Client& client);
  /// Adds to the backlog what has become of `changes`, by their results.
  void owe(std::span<const rule::RuleChange> changes, std::span<const rule::ChangeResult> results);
  /// Adds to the backlog that there are no such rules.
  void forget(std::span<const PolicyRuleId> pids);
  /// Where the identifiers stood when the store was opened.
  void resume_ids(const rule::IdPositions& ids) { ids_ = ids; }
  /// Tries once more to give the store the backlog: the last call.
  void finish();

  /// When on_deadline() wants to be called, if at all. Calling it earlier does no harm.
  std::optional<Instant> deadline() const { return retry_at_; }
  void on_deadline(Instant now);

 private:
  using Backlog = std::map<PolicyRuleId, std::string>;

  /// Writes the backlog and, behind it, `entries`.
  void write(std::vector<store::Entry> entries, Client* client);
  void on_written(const Failure& failure, Backlog backlog, Instant began, Client* client);
  /// Tells the monitor what is new.
  void note(const Failure& failure);
  void retry_later();

  Writer& writer_;
  const Clock& clock_;
  Monitor& monitor_;
  Metrics* metrics_;
  rule::IdPositions ids_;
  Backlog backlog_;
  std::optional<Instant> retry_at_;
  bool retrying_ = false;  ///< the backlog alone is being written
  /// A batch that waits for the retry: that may yet fail, and must not be taken for newer.
  std::optional<std::vector<store::Entry>> waiting_;
  Client* client_ = nullptr;  ///< of the batch that waits
  bool taken_ = false;
  bool failing_ = false;
};

}  // namespace simco::middlebox
