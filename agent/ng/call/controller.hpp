// The calls of all proxies: requests of the ng protocol and results of SIMCO transactions in,
// SIMCO requests, replies and deadlines out. No I/O, no clock.
//
// An offer or an answer is an operation. A call has one operation at a time; further requests for
// it wait. An operation asks the middlebox for missing rules, waits for all results, and replies.
// Rules that it no longer needs are ended after the reply. If its reply has become due before all
// results are there, an error is sent, and rules that the middlebox makes nevertheless are ended.
#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/ng/call/call.hpp"
#include "agent/ng/call/call_host.hpp"
#include "agent/ng/call/call_rules.hpp"
#include "agent/ng/call/calls.hpp"
#include "agent/ng/call/counters.hpp"
#include "agent/ng/call/exchange.hpp"
#include "agent/ng/call/upstream.hpp"

namespace simco::ng {

class CallController {
 public:
  CallController(CallHost& host, CallOptions options);

  /// Applies changed options to later requests.
  void set(CallOptions options);

  /// A call from before a restart, and a rule that on_unended() named. Before the first session,
  /// which shows which rules are left.
  void restore(Call call, Instant now);
  void restore_unended(const KeptRule& rule, Instant now) { rules_.restore_unended(rule, now); }
  /// A session is open: the first one, or another one after on_session_lost(). Rules of calls are
  /// found again by their PIDs, tuples and direction. Those that legs of calls need and the
  /// middlebox does not have are made again on a firewall, and forgotten on a NAT, whose ports
  /// would be others.
  void on_session(const Capabilities& capabilities, Instant now);
  /// The session was lost, and another one will be opened. Transactions under way have got their
  /// results.
  void on_session_lost(Instant now) { rules_.on_session_lost(now); }
  /// A request of a proxy. `id` is the caller's, for CallHost::reply().
  void on_request(std::uint64_t id, Request request, Moment now);
  /// The media proxy has replied to a request.
  void on_upstream_reply(std::uint64_t id, const nlohmann::json& reply, Instant now);
  void on_result(std::uint64_t transaction, const SimcoResult& result, Instant now);
  void on_counted(std::uint64_t question, const Counted& counted, Instant now);
  /// The middlebox has changed the lifetime of a rule, or ended it: 0 (ARE).
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime, Instant now);

  /// When on_deadline() must be called next, or nullopt.
  std::optional<Instant> next_deadline() const;
  void on_deadline(Instant now);

  std::size_t call_count() const { return calls_.all().size(); }
  std::size_t rule_count() const { return rules_.count(); }

 private:
  // Requests
  bool answer_at_once(PendingRequest& asked);
  CallState* call_for(PendingRequest& asked);
  void run(CallState& state);
  void start(CallState& state, PendingRequest asked);
  void start_delete(CallState& state, PendingRequest asked);
  void end(CallState& state, PendingRequest& asked);
  void query(CallState& state, PendingRequest asked);
  nlohmann::json summary(const CallState& state) const;
  void reply(PendingRequest& asked, const nlohmann::json& reply);
  void log(const CallState& state, LogLevel level, const std::string& text);

  // Offers and answers
  void start_exchange(CallState& state, PendingRequest asked);
  void ask_for_rules(CallState& state);
  void go_on(CallState& state);
  void finish(CallState& state, Operation operation);

  // Rules
  void enable(CallState& state, const NeededRule& rule);
  void reserve(CallState& state, const InternalPorts& ports);
  void on_asked(const RuleResult& result, Instant now);
  void add_rule(CallState& state, const RuleRequest& request, const MadeRule& made, Instant now);
  void release_rules(CallState& state);
  void end_rules(Call* call, const std::vector<PolicyRuleId>& pids);
  std::optional<NeededRule> forget(CallState& state, PolicyRuleId pid);
  void want_again(const CallState& state);
  /// Sends the requests that are due about the rules that there are, and forgets those that are
  /// lost: the last thing that each event does.
  void maintain_rules(Instant now);

  // Counters
  void read_all_counters(Instant now);
  void end_silent_calls(const agent::RuleTraffics& traffic, Instant now);

  // Time
  void expire(CallState& state, Instant now);
  void drop_overdue(CallState& state, Instant now);

  CallHost& host_;
  CallOptions options_;
  Calls calls_;
  CallRules rules_;
  Counters counters_;
  UpstreamRequests upstream_;
  /// Rules that legs need and the middlebox has lost, with their call-ids.
  std::deque<std::pair<std::string, NeededRule>> to_restore_;
};

}  // namespace simco::ng
