// The requests that cannot be decided yet, in the order of their session (doc/rfc4540.md, reading
// 26).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "middlebox/policy/engine.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/assert.hpp"
#include "simco/wire/messages.hpp"

namespace simco::middlebox {

/// A session that sends policy rule requests, as seen by the parts that answer them. Must exist
/// until each of its requests has been answered.
class Requester {
 public:
  virtual rule::AgentId agent() const = 0;
  /// Name of that agent; valid as long as the session is open.
  virtual std::string_view agent_name() const = 0;
  /// Its address, for the log.
  virtual std::string_view peer() const = 0;
  /// The same with its port, where that is known.
  virtual std::string_view peer_endpoint() const { return peer(); }
  /// Maximum lifetime in the capabilities that its session was told, seconds.
  virtual std::uint32_t lifetime_max_s() const = 0;
  virtual void reply(TransactionId tid, const Body& body) = 0;
  /// Another session has changed a rule that its agent may see, or the rule has expired.
  virtual void notify(const policy::RuleEvent& event) = 0;
  /// True if it should not be sent more now: its peer has to read first.
  virtual bool output_full() const = 0;

 protected:
  ~Requester() = default;

 private:
  friend class RequestLines;
  /// Changes that it asked for and that are not settled; a PDR's is when its victims have ended.
  std::uint32_t unsettled_ = 0;
};

/// One line for each session that has such requests: the first request waits for a rule or for the
/// session's earlier changes, and the others queue behind it.
class RequestLines {
 public:
  struct Request {
    TransactionId tid;
    Body body;
  };

  bool empty() const { return lines_.empty(); }
  bool contains(Requester& requester) const {
    return !lines_.empty() && lines_.contains(&requester);
  }
  void push(Requester& requester, Request request);
  /// Returns the first request in a line; nullptr if the session has none.
  const Request* front(Requester& requester) const;
  void pop(Requester& requester);

  // --- Waiting for a rule ---

  /// The first request of the session waits until the change of the rule is settled.
  void wait_for_rule(Requester& requester, PolicyRuleId pid) {
    after_rule_[pid].push_back(&requester);
  }
  bool any_wait_for_rules() const { return !after_rule_.empty(); }
  bool wait_for_rule(PolicyRuleId pid) const { return after_rule_.contains(pid); }
  /// Returns the session that has waited longest for the rule, which waits no more; nullptr if none
  /// does.
  Requester* take_waiting(PolicyRuleId pid);

  // --- Waiting for the session's own changes ---

  bool all_settled(const Requester& requester) const { return requester.unsettled_ == 0; }
  void note_planned(Requester& requester) { ++requester.unsettled_; }
  /// The first request of the session waits until all its changes are settled.
  void wait_for_changes(Requester& requester);
  /// One of its changes is settled. Returns true if its line waited for that.
  bool note_settled(Requester& requester) {
    SIMCO_ASSERT(requester.unsettled_ > 0);
    return --requester.unsettled_ == 0 && !lines_.empty() && waited_for_changes(requester);
  }

 private:
  /// Its line waits for them no longer.
  bool waited_for_changes(Requester& requester);

  struct Line {
    std::deque<Request> requests;
    bool for_changes = false;  ///< the first waits for the session's own changes
  };

  std::unordered_map<Requester*, Line> lines_;
  std::unordered_map<PolicyRuleId, std::deque<Requester*>> after_rule_;
};

/// The PDRs that wait for the end of the enable rules that their disable rules hit (RFC 4540,
/// 5.3.17): policy::DisableRules knows which rules end for which disable rule; here is which
/// session waits for that, whose disable rule searches next, and how many ends a session may cause
/// at a time. Those from before a restart are not here: no session waits for them.
class WaitingPdrs {
 public:
  /// Its disable rule is in force.
  struct Pdr {
    Requester* requester;
    TransactionId tid;
    Body reply;
  };
  struct Step : policy::DisableStep {
    PolicyRuleId pid;  ///< the disable rule
  };

  /// Both must outlive this.
  WaitingPdrs(policy::PolicyEngine& engine, const RequestLines& lines)
      : engine_(engine), lines_(lines) {}

  bool empty() const { return pdrs_.empty(); }
  bool searching() const { return !turns_.empty(); }
  /// The disable rule `pid` must look for what it hits.
  void add(PolicyRuleId pid, const Pdr& pdr);
  /// Searches a step further, for one session at a time; nullopt if there is nothing to look for
  /// now.
  std::optional<Step> search(Instant now);
  /// Returns when search() is due next, if ever.
  std::optional<Instant> next_search() const;
  /// The disable rule `pid` has ended a rule.
  void note_ended(PolicyRuleId pid);
  /// The disable rule `pid` waits for nothing more: returns the PDR to be answered, if there is
  /// one.
  std::optional<Pdr> complete(PolicyRuleId pid);

 private:
  /// The disable rules of a session.
  struct Session {
    std::deque<PolicyRuleId> searches;  ///< that are looking for what they hit
    std::uint32_t ending = 0;           ///< enable rules that they are ending: it may hear of each
  };

  Instant held_until(const Requester& requester) const;

  policy::PolicyEngine& engine_;
  const RequestLines& lines_;
  std::unordered_map<PolicyRuleId, Pdr> pdrs_;
  std::unordered_map<const Requester*, Session> sessions_;
  std::deque<Requester*> turns_;  ///< sessions that search, in turn
};

}  // namespace simco::middlebox
