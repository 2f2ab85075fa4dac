// Writes batches through the Writer, each preceded by the backlog. If a write fails, the backlog
// stays and is retried at a deadline or with the next batch; the client decides about its own
// batch.
#include "middlebox/commit/journal.hpp"

#include <iterator>
#include <utility>

#include "middlebox/limits.hpp"
#include "middlebox/observe/metrics.hpp"
#include "simco/wire/assert.hpp"

namespace simco::middlebox {
namespace {

using rule::ChangeResult;
using rule::RuleChange;
using State = Journal::State;

/// One look at both clocks: they say when a rule ends after a restart.
class Now {
 public:
  explicit Now(const Clock& clock) : monotonic_(clock.now()), wall_ms_(clock.wall_ms()) {}

  store::Entry entry(const rule::RuleRecord& record) const {
    return {record.pid, encode_rule(record, monotonic_, wall_ms_)};
  }
  /// The store's entry for the rule of `change`.
  store::Entry entry(const RuleChange& change, State state) const {
    const auto& record = state == State::kAfter ? change.after : change.before;
    if (record.pid == PolicyRuleId{}) return {change.rule().pid, {}};
    return entry(record);
  }

 private:
  Instant monotonic_;
  std::int64_t wall_ms_;
};

}  // namespace

Journal::Journal(Writer& writer, const Clock& clock, Monitor& monitor, Metrics* metrics)
    : writer_(writer), clock_(clock), monitor_(monitor), metrics_(metrics) {}

void Journal::keep(std::span<const RuleChange> changes, State state, const rule::IdPositions& ids,
                   Writer::Done done) {
  SIMCO_ASSERT(!waiting_);
  ids_.pids = std::max(ids_.pids, ids.pids);
  ids_.groups = std::max(ids_.groups, ids.groups);
  const Now now(clock_);
  std::vector<store::Entry> entries;
  entries.reserve(changes.size());
  for (const auto& change : changes) entries.push_back(now.entry(change, state));
  if (!writing_) return write(std::move(entries), std::move(done));
  waiting_ = std::move(entries);
  done_ = std::move(done);
}

void Journal::put_off(std::span<const RuleChange> changes, std::span<const ChangeResult> results) {
  const Now now(clock_);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto state = results[i] == ChangeResult::kDone ? State::kAfter : State::kBefore;
    auto entry = now.entry(changes[i], state);
    backlog_.insert_or_assign(entry.pid, std::move(entry.octets));
  }
  retry_later();
}

void Journal::put_off(const rule::RuleRecord& rule) {
  if (backlog_.contains(rule.pid)) return;
  auto entry = Now(clock_).entry(rule);
  backlog_.emplace(entry.pid, std::move(entry.octets));
}

void Journal::forget(std::span<const PolicyRuleId> pids) {
  for (const auto pid : pids) backlog_.insert_or_assign(pid, std::string());
  if (!pids.empty()) retry_later();
}

void Journal::write_soon() {
  writes_soon_ = true;
  retry_later();
}

bool Journal::finish() {
  if (backlog_.empty()) return true;
  const bool alone = !writing_;
  write({}, nullptr);
  return alone;
}

void Journal::on_deadline(Instant now) {
  if (!retry_at_ || now < *retry_at_) return;
  retry_at_.reset();
  if (writing_) return retry_later();
  const bool asked = std::exchange(writes_soon_, false);
  if (!backlog_.empty() || asked) write({}, nullptr);
}

void Journal::write(std::vector<store::Entry> entries, Writer::Done done) {
  store::Batch batch;
  batch.counters = {ids_.pids, ids_.groups};
  writing_ = true;
  const bool all = std::exchange(lost_, false);
  batch.all = all;
  auto backlog = std::exchange(backlog_, {});
  for (const auto& [pid, octets] : backlog) batch.entries.push_back({pid, octets});
  batch.entries.insert(batch.entries.end(), std::make_move_iterator(entries.begin()),
                       std::make_move_iterator(entries.end()));
  writer_.write(std::move(batch), [this, done = std::move(done), backlog = std::move(backlog), all,
                                   began = clock_.now()](const Failure& failure) mutable {
    lost_ |= failure && (all || failure->lost);
    on_written(failure, std::move(backlog), began, done);
  });
}

void Journal::on_written(const Failure& failure, Backlog backlog, Instant began,
                         const Writer::Done& done) {
  if (metrics_ != nullptr) metrics_->stored(clock_.now() - began, !failure.has_value());
  note(failure);
  if (failure) {
    // Entries that were added in the meantime are newer.
    backlog_.merge(backlog);
    writes_soon_ = !failure->taken;  // if only to learn that the store works again
    retry_later();
  }
  if (failure && failure->lost) monitor_.on_store_lost();
  writing_ = false;
  if (done) done(failure);
  if (writing_ || !waiting_) return;
  auto entries = std::exchange(waiting_, std::nullopt);
  write(std::move(*entries), std::exchange(done_, nullptr));
}

void Journal::retry_later() {
  if (!retry_at_) retry_at_ = clock_.now() + kStoreRetry;
}

void Journal::note(const Failure& failure) {
  if (failure && failure->taken && !std::exchange(taken_, true)) monitor_.on_store_taken();
  if (failure.has_value() == failing_) return;
  failing_ = failure.has_value();
  if (failing_) {
    monitor_.on_store_failing(failure->what);
  } else {
    monitor_.on_store_working();
  }
}

}  // namespace simco::middlebox
