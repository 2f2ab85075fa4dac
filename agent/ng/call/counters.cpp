// What rules have counted: for the totals of a call, and to find calls whose media is silent.
//
// A rule that the call no longer needs is asked for its counters before it ends. While counters
// cannot be read, nothing waits for them, and no call is ended for silence.
#include <fmt/format.h>

#include <algorithm>

#include "agent/ng/call/controller.hpp"

namespace simco::ng {
namespace {

std::vector<PolicyRuleId> pids_of(const Call& call) {
  std::vector<PolicyRuleId> pids;
  for (const auto& [rule, made] : call.rules) pids.push_back(made.pid);
  return pids;
}

}  // namespace

void CallController::ask_counters(Question question, const std::vector<PolicyRuleId>& pids) {
  questions_.emplace(++last_question_, std::move(question));
  host_.ask_counters(last_question_, pids);
}

nlohmann::json CallController::summary(const Entry& entry) const {
  auto result = summary_of(entry.call);
  if (counters_fail_) result["warning"] = "Counters cannot be read: totals are out of date";
  return result;
}

void CallController::query(Entry& entry, Waiting asked) {
  const auto pids = pids_of(entry.call);
  if (!options_.counts || pids.empty()) return reply(asked, summary(entry));
  ask_counters({Question::Kind::kQuery, entry.call.id, std::move(asked), {}}, pids);
}

/// A delete waits for the totals that its reply tells, as an operation of the call.
void CallController::start_delete(Entry& entry, Waiting asked) {
  const auto pids = pids_of(entry.call);
  const bool in_vain = counters_fail_ && asked.since.instant < ask_again_at_;
  if (!options_.counts || options_.upstream || in_vain || pids.empty()) return end(entry, asked);
  entry.operation = Operation{std::move(asked), {}, {}, {}, std::nullopt, 1, std::nullopt};
  ask_counters({Question::Kind::kDelete, entry.call.id, {}, {}}, pids);
}

/// Ends rules and reservations that the call has released; of a call that goes on, after what they
/// have counted is known.
void CallController::end_counted(Entry& entry, const std::vector<PolicyRuleId>& released) {
  const bool ask = options_.counts && !counters_fail_ && !entry.call.over();
  Question question;
  question.kind = Question::Kind::kReleased;
  question.call_id = entry.call.id;
  for (const auto pid : released) {
    if (ask && entry.call.tally.has(pid)) {
      question.released.push_back(pid);
    } else {
      entry.call.tally.end(pid);
      end_rule(pid);
    }
  }
  const auto pids = question.released;
  if (!pids.empty()) ask_counters(std::move(question), pids);
}

void CallController::on_counted(std::uint64_t id, const Counted& counted, Instant now) {
  const auto node = questions_.extract(id);
  if (node.empty()) return;
  note_readable(counted, now);
  take_counted(node.mapped(), counted, now);
  tend(now);
}

void CallController::take_counted(Question& question, const Counted& counted, Instant now) {
  using Kind = Question::Kind;
  if (question.kind == Kind::kAll) {
    read_counters_at_ = now + reading_pause();
    if (counted) end_silent_calls(*counted, now);
    return;
  }
  const auto found = calls_.find(question.call_id);
  auto* entry = found == calls_.end() ? nullptr : &found->second;
  if (entry != nullptr && counted) note(*entry, *counted, now);
  switch (question.kind) {
    case Kind::kAll: return;
    case Kind::kQuery:
      if (entry == nullptr) return reply(question.asked, error_reply("Unknown call-id"));
      return reply(question.asked, summary(*entry));
    case Kind::kDelete:
      if (entry == nullptr || !entry->operation) return;
      --entry->operation->pending;
      go_on(*entry);
      return run(question.call_id);
    case Kind::kReleased:
      for (const auto pid : question.released) {
        if (entry != nullptr) entry->call.tally.end(pid);
        end_rule(pid);
      }
      if (entry == nullptr) return;
      entry->changed = true;
      run(question.call_id);
  }
}

void CallController::note_readable(const Counted& counted, Instant now) {
  ask_again_at_ = now + kCountersRetry;
  if (counters_fail_ == !counted) return;
  counters_fail_ = !counted;
  if (counted) return host_.log(LogLevel::kInfo, "what rules have counted can be read again");
  host_.log(LogLevel::kWarning,
            "what rules have counted cannot be read, so totals are out of date and no call is "
            "ended for silence: " +
                counted.error());
}

void CallController::note(Entry& entry, const agent::RuleTraffics& traffic, Instant now) {
  entry.changed |= entry.call.tally.note(traffic, now);
  tell_changed(entry);
}

// --- Silence -------------------------------------------------------------------------------------

std::chrono::milliseconds CallController::reading_pause() const {
  const std::chrono::milliseconds quarter = options_.media_timeout / 4;
  return std::clamp<std::chrono::milliseconds>(quarter, kReadingPauseMin, kReadingPauseMax);
}

/// There are rules: their counters are read from now on.
void CallController::watch_for_silence(Instant now) {
  if (options_.media_timeout.count() == 0 || read_counters_at_) return;
  read_counters_at_ = now + reading_pause();
}

/// Reads the counters of all rules if that is due.
void CallController::read_all_counters(Instant now) {
  if (!read_counters_at_ || *read_counters_at_ > now) return;
  std::vector<PolicyRuleId> pids;
  for (const auto& [id, entry] : calls_) {
    for (const auto& [rule, made] : entry.call.rules) pids.push_back(made.pid);
  }
  read_counters_at_.reset();
  if (pids.empty() || options_.media_timeout.count() == 0) return;
  read_counters_at_ = Instant::max();
  ask_counters({Question::Kind::kAll, {}, {}, {}}, pids);
}

/// A call is silent if all of its rules say so.
void CallController::end_silent_calls(const agent::RuleTraffics& traffic, Instant now) {
  std::vector<std::string> silent;
  for (auto& [id, entry] : calls_) {
    note(entry, traffic, now);
    const auto& rules = entry.call.rules;
    const bool known = std::ranges::all_of(
        rules, [&](const auto& item) { return traffic.contains(item.second.pid); });
    if (rules.empty() || !known || entry.operation) continue;
    if (now - entry.call.tally.heard_at() >= options_.media_timeout) silent.push_back(id);
  }
  if (options_.media_timeout.count() == 0) return;
  for (const auto& id : silent) {
    auto& entry = calls_.at(id);
    log(entry, LogLevel::kWarning,
        fmt::format(
            "ended: no packet of its media for {} s",
            std::chrono::duration_cast<std::chrono::seconds>(now - entry.call.tally.heard_at())
                .count()));
    host_.on_media_timeout();
    entry.call.legs.clear();
    entry.call.offers.clear();
    run(id);
  }
}

}  // namespace simco::ng
