// The PDRs that wait for the end of the enable rules that their disable rules hit (RFC
// 4540, 5.3.17).
//
// policy::DisableRules knows which rules end for which disable rule; here is which session waits
// for that, whose disable rule searches next, and how many ends a session may cause at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "middlebox/commit/request_lines.hpp"
#include "middlebox/commit/requester.hpp"
#include "middlebox/policy/engine.hpp"

namespace simco::middlebox {

/// A PDR whose disable rule is in force. Those from before a restart are not here: no session waits
/// for them.
class WaitingPdrs {
 public:
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
