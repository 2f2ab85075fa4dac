// Pinholes that are held: a RuleKeeper on a Driver's executor, with its timer, and the callers that
// wait for losses.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "agent/outcome.hpp"
#include "simco/session/rule_keeper.hpp"

namespace simco::agent {

class Driver;

/// Part of a Driver, and used on its executor only.
class Keeper {
 public:
  explicit Keeper(Driver& driver);

  /// Holds a rule that was just enabled. The result denotes it as long as it is held, also after
  /// its loss; a PID would not, because a middlebox that restarts may use it again.
  HeldRule hold(const KeptRule& rule, Lifetime granted);
  /// The rule is not held any longer: it is not renewed, and lost() fails with kTerminated. Returns
  /// its PID, or nullopt if it was lost.
  std::optional<PolicyRuleId> let_go(HeldRule held);
  /// Returns the rule that has this PID, if it is held and not lost.
  std::optional<HeldRule> find(PolicyRuleId pid) const;
  /// Completes with the loss of the rule, now or when it comes. One call at a time for each rule.
  void lost(HeldRule held, Completion done);

  void on_session_open();
  void on_session_end();
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime);
  /// The agent is gone: everything that waits for a loss ends with kConnectionLost.
  void shut_down();

 private:
  struct Holding {
    PolicyRuleId pid;
    std::optional<RuleLoss> loss;
    Completion waiting;
  };

  /// Sends due requests, and reports losses.
  void send_due();
  void send(const RuleKeeper::Request& request);
  void report(PolicyRuleId pid, RuleLoss why);
  void arm_timer();

  Driver& driver_;
  boost::asio::steady_timer timer_;
  RuleKeeper keeper_;
  std::unordered_map<std::uint64_t, Holding> held_;
  std::unordered_map<PolicyRuleId, std::uint64_t> by_pid_;  ///< those that are not lost
  std::uint64_t last_ = 0;
  bool sending_ = false;
};

}  // namespace simco::agent
