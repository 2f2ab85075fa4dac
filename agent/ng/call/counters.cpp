// Questions that pay, their answers, and calls that are silent.
#include "agent/ng/call/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/ng/call/limits.hpp"

namespace simco::ng {

namespace {

using Purpose = CounterQuestion::Purpose;

}  // namespace

void Counters::set(const CallOptions& options) {
  counts_ = options.counts;
  upstream_ = options.upstream;
  timeout_ = options.media_timeout;
}

bool Counters::ask_for_delete(const Call& call, Instant now) {
  const auto pids = call.pids();
  // A question is vain if the last one was not answered.
  const bool vain = failing_ && now < ask_again_at_;
  if (!counts_ || upstream_ || pids.empty() || vain) return false;
  ask({Purpose::kDelete, call.id, {}, {}}, pids);
  return true;
}

bool Counters::ask_for_query(const Call& call, PendingRequest& query) {
  const auto pids = call.pids();
  if (!counts_ || pids.empty()) return false;
  ask({Purpose::kQuery, call.id, std::move(query), {}}, pids);
  return true;
}

std::vector<PolicyRuleId> Counters::ask_for_last(const Call& call,
                                                 std::vector<PolicyRuleId> released) {
  if (!counts_ || failing_ || call.over()) return released;
  const auto [first, last] = std::ranges::stable_partition(
      released, [&](PolicyRuleId pid) { return call.tally.has(pid); });
  const std::vector<PolicyRuleId> others(first, last);
  released.erase(first, last);
  if (!released.empty()) ask({Purpose::kReleased, call.id, {}, released}, released);
  return others;
}

void Counters::ask(CounterQuestion question, const std::vector<PolicyRuleId>& pids) {
  questions_.emplace(++last_question_, std::move(question));
  host_.ask_counters(last_question_, pids);
}

std::optional<CounterQuestion> Counters::on_counted(std::uint64_t id, const Counted& counted,
                                                    Instant now) {
  auto node = questions_.extract(id);
  if (node.empty()) return std::nullopt;
  note_readable(counted, now);
  if (node.mapped().purpose == Purpose::kSilence) next_reading_ = now + pause();
  return std::move(node.mapped());
}

void Counters::note_readable(const Counted& counted, Instant now) {
  ask_again_at_ = now + kCountersRetry;
  if (failing_ == !counted) return;
  failing_ = !counted;
  if (counted) return host_.log(LogLevel::kInfo, "what rules have counted can be read again");
  host_.log(LogLevel::kWarning,
            "what rules have counted cannot be read, so totals are out of date and no call is "
            "ended for silence: " +
                counted.error());
}

std::chrono::milliseconds Counters::pause() const {
  const std::chrono::milliseconds quarter = timeout_ / 4;
  return std::clamp<std::chrono::milliseconds>(quarter, kReadingPauseMin, kReadingPauseMax);
}

void Counters::watch_for_silence(Instant now) {
  if (timeout_.count() != 0 && !next_reading_) next_reading_ = now + pause();
}

void Counters::read_all(const std::vector<PolicyRuleId>& pids) {
  next_reading_.reset();
  if (pids.empty() || timeout_.count() == 0) return;
  next_reading_ = Instant::max();
  ask({}, pids);
}

bool Counters::is_silent(const Call& call, const agent::RuleTraffics& traffic, Instant now) const {
  const auto pids = call.pids();
  const auto known = [&](PolicyRuleId pid) { return traffic.contains(pid); };
  return timeout_.count() != 0 && !pids.empty() && std::ranges::all_of(pids, known) &&
         now - call.tally.heard_at() >= timeout_;
}

void Counters::end_silent(Call& call, Instant now) {
  const auto silence =
      std::chrono::duration_cast<std::chrono::seconds>(now - call.tally.heard_at());
  host_.log_call(call.id, LogLevel::kWarning,
                 fmt::format("ended: no packet of its media for {} s", silence.count()));
  host_.on_media_timeout();
  call.end_all();
}

std::optional<Instant> Counters::next_deadline() const {
  return next_reading_ == Instant::max() ? std::nullopt : next_reading_;
}

}  // namespace simco::ng
