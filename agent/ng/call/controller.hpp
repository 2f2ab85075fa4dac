// The calls of all proxies: requests of the ng protocol and results of SIMCO transactions in,
// SIMCO requests, replies and deadlines out. No I/O, no clock.
//
// An offer or an answer is an operation. A call has one operation at a time; further requests for
// it wait. An operation asks the middlebox for what is missing, waits for all results, and replies.
// What it no longer needs is ended after the reply. If its reply has become due before all results
// are there, an error is sent, and what the middlebox makes nevertheless is given back.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/ng/call/call.hpp"
#include "agent/ng/call/limits.hpp"
#include "agent/ng/protocol/request.hpp"
#include "simco/session/rule_keeper.hpp"
#include "simco/wire/messages.hpp"

namespace simco::ng {

/// How a transaction with the middlebox ended.
struct SimcoResult {
  const Body* reply = nullptr;  ///< positive or negative; null: none came
  bool session_lost = false;    ///< none came because the session ended first
  std::string text;             ///< why the transaction failed; empty: it did not
};

enum class LogLevel : std::uint8_t { kInfo, kWarning };

class CallController {
 public:
  struct Options {
    MediaRules media;
    Lifetime lifetime{60};
    std::chrono::seconds duration_max = kDurationMaxDefault;
    std::size_t calls_max = kCallsMaxDefault;
    bool counts = false;  ///< it can be asked what rules have counted
    /// A call whose rules have counted nothing for so long is ended; 0: none is.
    std::chrono::seconds media_timeout{0};
    /// A media proxy does the work: requests are passed on to it, and each of its ports is opened
    /// to the party that it serves.
    bool upstream = false;
  };

  /// What the controller needs done. Calls nothing back from inside its functions.
  class Host {
   public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual ~Host() = default;
    /// Sends a request to the middlebox, about `rule` if that exists already; in the next session
    /// if there is none at the moment. on_result() must follow, once.
    virtual void send(std::uint64_t transaction, const Body& request,
                      std::optional<PolicyRuleId> rule) = 0;
    /// Replies to a request, once each.
    virtual void reply(std::uint64_t request, const nlohmann::json& reply) = 0;
    /// Passes a request on to the media proxy, even if it has been replied to. on_upstream_reply()
    /// must follow, unless the proxy does not reply. `dictionary`: Request::dictionary.
    virtual void pass_on(std::uint64_t request, const std::string& dictionary) = 0;
    /// Asks what rules have counted, without SIMCO. on_counted() must follow, once, within
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
  };

  CallController(Host& host, Options options);

  /// Applies changed options to what follows.
  void set(Options options) { options_ = std::move(options); }

  /// A call from before a restart, and a rule that on_unended() named. Before the first session,
  /// which shows which rules are left.
  void restore(Call call, Instant now);
  void restore_unended(const KeptRule& rule, Instant now);
  /// A session is open: the first one, or another one after on_session_lost(). Rules of calls are
  /// found again by their PIDs, tuples and direction. Those that legs of calls need and the
  /// middlebox does not have are made again on a firewall, and forgotten on a NAT, whose ports
  /// would be others.
  void on_session(const Capabilities& capabilities, Instant now);
  /// The session was lost, and another one will be opened. Transactions under way have got their
  /// results.
  void on_session_lost(Instant now);
  /// A request of a proxy. `id` is the caller's, for Host::reply().
  void on_request(std::uint64_t id, Request request, Moment now);
  /// The media proxy has replied to a request.
  void on_upstream_reply(std::uint64_t id, const nlohmann::json& reply, Instant now);
  void on_result(std::uint64_t transaction, const SimcoResult& result, Instant now);
  /// What rules have counted, or why it cannot be said.
  using Counted = std::expected<agent::RuleTraffics, std::string>;
  void on_counted(std::uint64_t question, const Counted& counted, Instant now);
  /// The middlebox has changed the lifetime of a rule, or ended it: 0 (ARE).
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime, Instant now);

  /// When on_deadline() must be called next, or nullopt.
  std::optional<Instant> next_deadline() const;
  void on_deadline(Instant now);

  std::size_t call_count() const { return calls_.size(); }
  std::size_t rule_count() const { return owners_.size(); }

 private:
  struct Waiting {
    std::uint64_t id;
    Request request;
    Moment since;
    bool replied = false;
  };
  /// Why an operation failed. `code`: of a negative reply.
  struct Refusal {
    std::optional<NegativeReplyCode> code;
    std::string text;
  };
  /// An offer or an answer that waits for the middlebox.
  struct Operation {
    Waiting asked;
    Offer offer;                           ///< that is made, or that is answered
    Description answer;                    ///< of an answer
    std::vector<NeededRule> rules;         ///< of an answer: what its leg needs
    std::optional<nlohmann::json> passed;  ///< reply of the media proxy
    std::size_t pending = 0;               ///< transactions
    std::optional<Refusal> failure;
  };
  struct Entry {
    Call call;
    std::optional<Operation> operation;
    std::deque<Waiting> waiting;  ///< at most kWaitingMax
    std::optional<Instant> due;   ///< as in due_
    bool changed = false;         ///< since Host::on_changed()
  };
  /// What a transaction under way is for.
  struct Transaction {
    enum class Kind : std::uint8_t { kReserve, kEnable, kRestore, kKeep };
    Kind kind = Kind::kKeep;
    std::string call_id;              ///< not of kKeep
    NeededRule rule;                  ///< kEnable, kRestore
    InternalPorts ports;              ///< kReserve; of kEnable, if it enables a reservation
    std::optional<PolicyRuleId> pid;  ///< kKeep
  };

  /// A question for counters, under way.
  struct Question {
    enum class Kind : std::uint8_t {
      kAll,       ///< of all rules, for those calls that are silent
      kQuery,     ///< for the reply to a query
      kDelete,    ///< for the reply to a delete, which is the call's operation
      kReleased,  ///< of rules that the call no longer needs, which end after that
    };
    Kind kind = Kind::kAll;
    std::string call_id;
    Waiting asked;
    std::vector<PolicyRuleId> released;
  };

  // controller.cpp: requests, calls and time
  Entry* entry_for(Waiting& asked);
  void run(const std::string& call_id);
  void start(Entry& entry, Waiting asked);
  void end(Entry& entry, Waiting& asked);
  void list(Waiting& asked);
  nlohmann::json statistics() const;
  void attend(Entry& entry, Instant now);
  void drop_overdue(Entry& entry, Instant now);
  void note_answer(Entry& entry, const Request& request);
  void schedule(Entry& entry);
  void tell_changed(Entry& entry);
  void leave_to_proxy(Waiting& asked);
  void reply(Waiting& asked, const nlohmann::json& reply);
  void log(const Entry& entry, LogLevel level, const std::string& what);

  // counters.cpp
  void ask_counters(Question question, const std::vector<PolicyRuleId>& pids);
  void query(Entry& entry, Waiting asked);
  void start_delete(Entry& entry, Waiting asked);
  void end_counted(Entry& entry, const std::vector<PolicyRuleId>& released);
  void read_all_counters(Instant now);
  void take_counted(Question& question, const Counted& counted, Instant now);
  void note_readable(const Counted& counted, Instant now);
  void note(Entry& entry, const agent::RuleTraffics& traffic, Instant now);
  void end_silent_calls(const agent::RuleTraffics& traffic, Instant now);
  std::chrono::milliseconds reading_pause() const;
  void watch_for_silence(Instant now);
  nlohmann::json summary(const Entry& entry) const;

  // offer_answer.cpp
  std::optional<std::string> fault(const Waiting& asked) const;
  std::expected<Sdp, std::string> read_sdp(const Waiting& asked) const;
  void start_offer(Entry& entry, Waiting asked);
  void start_answer(Entry& entry, Waiting asked);
  void pass_on(Entry& entry);
  void take_passed(Operation& operation, const nlohmann::json& reply);
  void ask_for_rules(Entry& entry);
  void go_on(Entry& entry);
  void finish_offer(Entry& entry, Operation& operation);
  void finish_answer(Entry& entry, Operation& operation);
  std::string translated(const Entry& entry, const Request& request) const;

  // rules.cpp: transactions with the middlebox
  bool is_open() const { return session_ && !lost_at_; }
  void send(Transaction transaction, const Body& request, std::optional<PolicyRuleId> rule);
  void note_unended();
  void reserve(Entry& entry, const InternalPorts& ports);
  void enable(Entry& entry, const NeededRule& rule, Transaction::Kind kind);
  void on_asked(const Transaction& transaction, const SimcoResult& result, Instant now);
  void on_made(Entry& entry, const Transaction& transaction, const MadeRule& made, Instant now);
  /// Sends what is due about the rules that there are, and forgets those that are lost: the last
  /// thing that each event does.
  void tend(Instant now);
  void on_kept(const Transaction& transaction, const SimcoResult& result, Instant now);
  void sweep(Entry& entry);
  void end_rule(PolicyRuleId pid);
  void lose(const RuleKeeper::Loss& loss);
  /// Returns the rule, unless it is a reservation.
  std::optional<NeededRule> forget(Entry& entry, PolicyRuleId pid);
  void restore_rules(const Entry& entry);
  void restore_next();

  Host& host_;
  Options options_;
  std::optional<Capabilities> session_;  ///< of the last session
  std::optional<Instant> lost_at_;       ///< when that was lost
  std::uint64_t last_transaction_ = 0;
  std::map<std::string, Entry> calls_;
  std::uint64_t calls_begun_ = 0;
  std::unordered_map<std::uint64_t, Transaction> transactions_;
  std::unordered_map<PolicyRuleId, std::string> owners_;  ///< call-ids
  RuleKeeper keeper_;
  std::set<PolicyRuleId> unended_;  ///< as the host knows them
  /// Rules that legs need and the middlebox has lost.
  std::deque<std::pair<std::string, NeededRule>> to_restore_;
  std::size_t restoring_ = 0;  ///< transactions
  /// Call-ids of the operations that wait for the media proxy, by request.
  std::unordered_map<std::uint64_t, std::string> passed_on_;
  /// When other requests that it has got must have their replies; by request, oldest first.
  std::map<std::uint64_t, Instant> left_to_proxy_;
  std::set<std::pair<Instant, std::string>> due_;
  std::uint64_t last_question_ = 0;
  std::unordered_map<std::uint64_t, Question> questions_;
  bool counters_fail_ = false;
  Instant ask_again_at_{};  ///< while they do
  /// With a media timeout and rules, when all counters are read next; max: while they are.
  std::optional<Instant> read_counters_at_;
};

}  // namespace simco::ng
