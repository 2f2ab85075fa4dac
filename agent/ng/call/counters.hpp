// Questions to the middlebox for counters of rules: those under way, the time of the next reading
// of all rules, and whether there are answers. No I/O, no clock.
//
// While counters cannot be read, nothing waits for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/ng/call/call_host.hpp"
#include "agent/ng/call/exchange.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::ng {

struct CounterQuestion {
  enum class Purpose : std::uint8_t {
    kSilence,   ///< of all rules: which calls are silent
    kQuery,     ///< for the reply to a query
    kDelete,    ///< for the reply to a delete, which is the call's operation
    kReleased,  ///< of rules that the call no longer needs, which end after that
  };
  Purpose purpose = Purpose::kSilence;
  std::string call_id;
  PendingRequest query;
  std::vector<PolicyRuleId> released;
};

class CounterQuestions {
 public:
  explicit CounterQuestions(CallHost& host) : host_(host) {}

  /// How long a call may be silent; 0: for ever.
  void set_media_timeout(std::chrono::seconds timeout) { timeout_ = timeout; }
  std::chrono::seconds media_timeout() const { return timeout_; }

  void ask(CounterQuestion question, const std::vector<PolicyRuleId>& pids);
  /// Returns the question that this answers, if it is one.
  std::optional<CounterQuestion> on_counted(std::uint64_t id, const Counted& counted, Instant now);

  bool readable() const { return !failing_; }
  /// Whether a question will not be answered, as the last one was not.
  bool is_vain(Instant now) const { return failing_ && now < ask_again_at_; }

  /// There are rules: all are asked about from now on, if silence ends calls.
  void watch_for_silence(Instant now);
  bool reading_is_due(Instant now) const { return next_reading_ && *next_reading_ <= now; }
  void read_all(const std::vector<PolicyRuleId>& pids);
  std::optional<Instant> next_deadline() const;

 private:
  std::chrono::milliseconds pause() const;
  void note_readable(const Counted& counted, Instant now);

  CallHost& host_;
  std::chrono::seconds timeout_{0};
  std::uint64_t last_question_ = 0;
  std::unordered_map<std::uint64_t, CounterQuestion> questions_;
  bool failing_ = false;
  Instant ask_again_at_{};               ///< while they fail
  std::optional<Instant> next_reading_;  ///< of all rules; max: it is under way
};

}  // namespace simco::ng
