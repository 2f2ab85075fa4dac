// Stores each change of a rule before it is enforced, so that rules survive a restart (write-ahead
// logging; the S bit of RFC 4540, 4.3.3).
//
// While the store fails, changes that it should have form the backlog, which is written with the
// next batch or retried later.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "middlebox/store/store.hpp"

namespace simco::middlebox {

class Metrics;

/// Belongs to one thread. Reads the clocks when a batch is encoded, begun and stored.
class Journal {
 public:
  using Failure = std::optional<store::StoreFailure>;

  /// Writes batches. See StoreThread.
  class Writer {
   public:
    /// Called when a batch is stored, or with the reason why it could not be.
    using Done = std::function<void(const Failure& failure)>;
    /// Writes `batch` after those before it, and calls `done` later from the journal's thread.
    virtual void write(store::Batch batch, Done done) = 0;

   protected:
    ~Writer() = default;
  };

  /// Learns the state of the store.
  class Monitor {
   public:
    /// The store begins to fail: new rules are refused until it works again.
    virtual void on_store_failing(const std::string& why) = 0;
    virtual void on_store_working() = 0;
    /// Another middlebox has claimed the store. No further change is possible, not even the end of
    /// a rule, because the new owner would not learn of it.
    virtual void on_store_taken() = 0;
    /// The store has lost data: put_off() it all rules.
    virtual void on_store_lost() = 0;

   protected:
    ~Monitor() = default;
  };

  /// Which of the two records of a change to store.
  enum class State : std::uint8_t { kBefore, kAfter };

  /// All arguments must outlive this; `metrics` may be nullptr.
  Journal(Writer& writer, const Clock& clock, Monitor& monitor, Metrics* metrics = nullptr);

  /// Stores the rules of `changes` as they were before or will be after, and the positions of the
  /// identifiers, and calls `done` later. One batch at a time.
  void keep(std::span<const rule::RuleChange> changes, State state, const rule::IdPositions& ids,
            Writer::Done done);
  /// Adds the outcome of `changes` to the backlog, by their results.
  void put_off(std::span<const rule::RuleChange> changes,
               std::span<const rule::ChangeResult> results);
  /// Adds a rule to the backlog, unless it has something newer about it.
  void put_off(const rule::RuleRecord& rule);
  /// Adds the deletion of these rules to the backlog.
  void forget(std::span<const PolicyRuleId> pids);
  /// Writes soon, even if there is nothing to write: that finds out whether the store has its
  /// rules.
  void write_soon();
  /// Sets the positions of the identifiers as of the opening of the store.
  void resume_ids(const rule::IdPositions& ids) { ids_ = ids; }
  /// Tries once more to write the backlog. Returns false if a write before it may fail unseen. Must
  /// be the last call.
  bool finish();

  /// Returns when on_deadline() must be called, if at all. Calling it earlier is harmless.
  std::optional<Instant> deadline() const { return retry_at_; }
  void on_deadline(Instant now);

 private:
  using Backlog = std::map<PolicyRuleId, std::string>;

  /// Writes the backlog and, behind it, `entries`.
  void write(std::vector<store::Entry> entries, Writer::Done done);
  void on_written(const Failure& failure, Backlog backlog, Instant began, const Writer::Done& done);
  /// Tells the monitor if the state of the store has changed.
  void note(const Failure& failure);
  void retry_later();

  Writer& writer_;
  const Clock& clock_;
  Monitor& monitor_;
  Metrics* metrics_;
  rule::IdPositions ids_;
  Backlog backlog_;
  std::optional<Instant> retry_at_;
  bool writes_soon_ = false;
  bool writing_ = false;  ///< one write at a time: what fails must be in the next one
  /// A batch that waits for the end of a retry.
  std::optional<std::vector<store::Entry>> waiting_;
  Writer::Done done_;  ///< of the waiting batch
  bool taken_ = false;
  bool failing_ = false;
  bool lost_ = false;  ///< the store lost everything, and the next write must have all rules
};

/// A rule in the store: a version, followed by the attributes of RFC 4540 section 4.3 in their own
/// encoding. With its end by the wall clock, which a reboot does not change.
struct KeptRule {
  /// The owner's name is a view of the decoded octets; owner number and expires_at are not set.
  rule::RuleRecord rule;
  Lifetime left;                ///< when it was stored: the rule never lives longer than this
  std::int64_t ends_at_ms = 0;  ///< milliseconds since 1970-01-01 00:00 UTC
};

/// Returns how long the rule goes on living at `wall_ms`: a clock that has gone back does not make
/// it live longer than was granted.
std::chrono::milliseconds time_left(const KeptRule& kept, std::int64_t wall_ms);
/// Returns the rule as of `now`, which is `wall_ms` by the wall clock (as KeptRule::ends_at_ms).
/// Never empty.
std::string encode_rule(const rule::RuleRecord& rule, Instant now, std::int64_t wall_ms);
/// Returns the rule, or an error message if the octets are invalid.
std::expected<KeptRule, std::string> decode_rule(PolicyRuleId pid, std::string_view octets);

}  // namespace simco::middlebox
