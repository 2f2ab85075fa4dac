#include "agent/ng/call/counters.hpp"

#include <algorithm>
#include <utility>

#include "agent/ng/call/limits.hpp"

namespace simco::ng {

void CounterQuestions::ask(CounterQuestion question, const std::vector<PolicyRuleId>& pids) {
  questions_.emplace(++last_question_, std::move(question));
  host_.ask_counters(last_question_, pids);
}

std::optional<CounterQuestion> CounterQuestions::on_counted(std::uint64_t id,
                                                            const Counted& counted, Instant now) {
  auto node = questions_.extract(id);
  if (node.empty()) return std::nullopt;
  note_readable(counted, now);
  if (node.mapped().purpose == CounterQuestion::Purpose::kSilence) next_reading_ = now + pause();
  return std::move(node.mapped());
}

void CounterQuestions::note_readable(const Counted& counted, Instant now) {
  ask_again_at_ = now + kCountersRetry;
  if (failing_ == !counted) return;
  failing_ = !counted;
  if (counted) return host_.log(LogLevel::kInfo, "what rules have counted can be read again");
  host_.log(LogLevel::kWarning,
            "what rules have counted cannot be read, so totals are out of date and no call is "
            "ended for silence: " +
                counted.error());
}

std::chrono::milliseconds CounterQuestions::pause() const {
  const std::chrono::milliseconds quarter = timeout_ / 4;
  return std::clamp<std::chrono::milliseconds>(quarter, kReadingPauseMin, kReadingPauseMax);
}

void CounterQuestions::watch_for_silence(Instant now) {
  if (timeout_.count() != 0 && !next_reading_) next_reading_ = now + pause();
}

void CounterQuestions::read_all(const std::vector<PolicyRuleId>& pids) {
  next_reading_.reset();
  if (pids.empty() || timeout_.count() == 0) return;
  next_reading_ = Instant::max();
  ask({}, pids);
}

std::optional<Instant> CounterQuestions::next_deadline() const {
  return next_reading_ == Instant::max() ? std::nullopt : next_reading_;
}

}  // namespace simco::ng
