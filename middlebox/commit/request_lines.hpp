// The requests that cannot be decided yet, in the order of their session (doc/rfc4540.md, reading
// 26).
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "middlebox/commit/requester.hpp"
#include "simco/wire/assert.hpp"

namespace simco::middlebox {

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

}  // namespace simco::middlebox
