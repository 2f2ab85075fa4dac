// The rules and reservations of calls in the middlebox: asks for them, keeps them alive in one
// session after another, and ends them. No I/O, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "agent/ng/call/call.hpp"
#include "agent/ng/call/call_host.hpp"
#include "agent/ng/call/media.hpp"
#include "simco/session/rule_keeper.hpp"
#include "simco/wire/messages.hpp"

namespace simco::ng {

/// A request for a rule or a reservation of a call.
struct RuleRequest {
  std::string call_id;
  std::optional<NeededRule> rule;      ///< nullopt: a reservation
  std::optional<InternalPorts> ports;  ///< of a reservation, made or enabled by the request
  bool again = false;                  ///< the middlebox had lost the rule
};

/// The end of a request.
struct RuleResult {
  RuleRequest request;
  std::optional<MadeRule> made;
  bool session_lost = false;              ///< there was no reply
  std::optional<NegativeReplyCode> code;  ///< of a refusal
  std::string text;                       ///< why nothing was made
};

class CallRules {
 public:
  explicit CallRules(CallHost& host) : host_(host) { keeper_.on_session_end(); }  // none yet

  /// The lifetime to ask for from now on.
  void set_lifetime(Lifetime lifetime) { lifetime_ = lifetime; }

  /// A rule or a reservation of a call from before a restart; and a rule that must end.
  template <class Needed>
  void restore(const std::string& call_id, const Needed& needed, const MadeRule& made,
               Instant now) {
    owners_[made.pid] = call_id;
    keeper_.keep(kept(needed, made, lifetime_), lifetime_, now);
  }
  void restore_unended(const KeptRule& rule, Instant now);

  void on_session(const Capabilities& capabilities);
  void on_session_lost(Instant now);
  bool is_open() const { return session_ && !lost_at_; }
  /// Whether the middlebox of this session, or of the last one, is a NAT.
  bool is_nat() const { return session_ && session_->nat; }
  /// Why a request that came at `since` cannot have rules, or nullopt. A session that was just
  /// lost is opened again: requests wait for that.
  std::optional<std::string> fault(Instant since) const;

  void reserve(const Call& call, const InternalPorts& ports);
  /// `again`: the middlebox had lost the rule.
  void enable(const Call& call, const NeededRule& rule, bool again);
  /// Returns whether a further lost rule may be asked for.
  bool may_restore() const;
  /// A transaction has ended. Returns the result if it was one for a call.
  std::optional<RuleResult> on_result(std::uint64_t transaction, const SimcoResult& result,
                                      Instant now);
  /// Returns the call whose rule the middlebox has ended, if it has.
  std::optional<std::string> on_rule_event(PolicyRuleId pid, Lifetime lifetime, Instant now);
  /// The rule must end. The host learns of it if the middlebox cannot.
  void end(PolicyRuleId pid);

  /// Sends the requests that are due about the rules that there are.
  void send_due(Instant now);
  /// A rule of a call that the middlebox no longer has.
  struct Lost {
    PolicyRuleId pid;
    std::string call_id;
  };
  std::optional<Lost> take_lost();
  std::optional<Instant> next_deadline() const { return keeper_.next_deadline(); }

  /// Rules and reservations of calls.
  std::size_t count() const { return owners_.size(); }

 private:
  struct Transaction {
    std::optional<RuleRequest> asked;  ///< nullopt: it is about a rule that there is
    std::optional<PolicyRuleId> pid;
  };

  void send(Transaction transaction, const Body& request, std::optional<PolicyRuleId> rule);
  void on_kept(std::optional<PolicyRuleId> pid, const SimcoResult& result, Instant now);
  void store_unended();
  void gone(PolicyRuleId pid);

  CallHost& host_;
  Lifetime lifetime_;
  std::optional<Capabilities> session_;  ///< of the last session
  std::optional<Instant> lost_at_;       ///< when that was lost
  std::uint64_t last_transaction_ = 0;
  std::unordered_map<std::uint64_t, Transaction> transactions_;
  std::size_t restoring_ = 0;                             ///< those that ask again
  std::unordered_map<PolicyRuleId, std::string> owners_;  ///< call-ids
  RuleKeeper keeper_;
  std::set<PolicyRuleId> unended_;  ///< as the host knows them
};

}  // namespace simco::ng
