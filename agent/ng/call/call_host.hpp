// The surroundings of the calls: the middlebox, the proxies, the media proxy, the counters, the
// store and the log. No I/O, no clock.
#pragma once

#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/ng/call/call.hpp"
#include "agent/rule_traffic.hpp"
#include "simco/session/rule_keeper.hpp"
#include "simco/wire/messages.hpp"

namespace simco::ng {

/// How a transaction with the middlebox ended.
struct SimcoResult {
  const Body* reply = nullptr;  ///< positive or negative; null: none came
  bool session_lost = false;    ///< none came because the session ended first
  std::string text;             ///< why the transaction failed; empty: it did not
};

/// Counters of rules, or the reason why they cannot be read.
using Counted = std::expected<agent::RuleTraffics, std::string>;

enum class LogLevel : std::uint8_t { kInfo, kWarning };

/// Calls nothing back from inside its functions.
class CallHost {
 public:
  CallHost() = default;
  CallHost(const CallHost&) = delete;
  CallHost& operator=(const CallHost&) = delete;
  virtual ~CallHost() = default;
  /// Sends a request to the middlebox, about `rule` if that exists already; in the next session
  /// if there is none at the moment. CallController::on_result() must follow, once.
  virtual void send(std::uint64_t transaction, const Body& request,
                    std::optional<PolicyRuleId> rule) = 0;
  /// Replies to a request, once each.
  virtual void reply(std::uint64_t request, const nlohmann::json& reply) = 0;
  /// Passes a request on to the media proxy, even if it has been replied to. on_upstream_reply()
  /// must follow, unless the proxy does not reply. `dictionary`: Request::dictionary.
  virtual void pass_on(std::uint64_t request, const std::string& dictionary) = 0;
  /// Asks for counters of rules, without SIMCO. on_counted() must follow, once, within
  /// kCountersPatience, or longer for more than agent::kInspectedRulesMax rules.
  virtual void ask_counters(std::uint64_t question, const std::vector<PolicyRuleId>& pids) = 0;
  /// A call was ended because of its silence.
  virtual void on_media_timeout() = 0;
  virtual void log(LogLevel level, const std::string& line) = 0;
  /// A call has changed, before the reply that tells of it; or ended.
  virtual void on_changed(const Call& call) = 0;
  virtual void on_ended(const std::string& call_id) = 0;
  /// A rule must end, and the middlebox cannot be told yet; or its end is certain.
  virtual void on_unended(const KeptRule& rule) = 0;
  virtual void on_rule_gone(PolicyRuleId pid) = 0;

  /// Logs a line about a call.
  void log_call(const std::string& call_id, LogLevel level, const std::string& text);
};

}  // namespace simco::ng
