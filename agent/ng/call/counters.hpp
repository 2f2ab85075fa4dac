// The counters of calls' rules: questions for them that are under way, the time of the next reading
// of all rules, and the silence of calls. No I/O, no clock.
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

class Counters {
 public:
  explicit Counters(CallHost& host) : host_(host) {}

  void set(const CallOptions& options);
  bool readable() const { return !failing_; }

  /// Asks for the totals that the reply to a delete or to a query tells. Returns false if there is
  /// nothing to wait for. A query is then moved from.
  bool ask_for_delete(const Call& call, Instant now);
  bool ask_for_query(const Call& call, PendingRequest& query);
  /// Asks for the last counts of rules that the call no longer needs. Returns those that can end
  /// without.
  std::vector<PolicyRuleId> ask_for_last(const Call& call, std::vector<PolicyRuleId> released);
  /// Returns the question that this answers, if it is one.
  std::optional<CounterQuestion> on_counted(std::uint64_t id, const Counted& counted, Instant now);

  /// There are rules: all are asked about from now on, if silence ends calls.
  void watch_for_silence(Instant now);
  bool reading_is_due(Instant now) const { return next_reading_ && *next_reading_ <= now; }
  void read_all(const std::vector<PolicyRuleId>& pids);
  /// Returns true if all rules of the call, which these counts are of, say that it is silent.
  bool is_silent(const Call& call, const agent::RuleTraffics& traffic, Instant now) const;
  /// Ends the call for its silence, which the log and the host learn of.
  void end_silent(Call& call, Instant now);
  std::optional<Instant> next_deadline() const;

 private:
  void ask(CounterQuestion question, const std::vector<PolicyRuleId>& pids);
  std::chrono::milliseconds pause() const;
  void note_readable(const Counted& counted, Instant now);

  CallHost& host_;
  bool counts_ = false;    ///< the middlebox can be asked
  bool upstream_ = false;  ///< the totals are the media proxy's
  std::chrono::seconds timeout_{0};
  std::uint64_t last_question_ = 0;
  std::unordered_map<std::uint64_t, CounterQuestion> questions_;
  bool failing_ = false;
  Instant ask_again_at_{};               ///< while they fail
  std::optional<Instant> next_reading_;  ///< of all rules; max: it is under way
};

}  // namespace simco::ng
