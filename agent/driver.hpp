// Transactions over a connection on an Asio executor: the common part of the C++ agent and the C
// client. Opening, ending and reopening a session, requests that wait for their turn, and the timer
// that all deadlines share.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>

#include "agent/error.hpp"
#include "agent/keeper.hpp"
#include "agent/link.hpp"
#include "agent/options.hpp"
#include "agent/outcome.hpp"
#include "agent/reconnection.hpp"
#include "agent/session_link.hpp"
#include "simco/session/agent_transactions.hpp"

namespace simco::agent {

/// Lives on its executor, which must run one handler at a time; make it with std::make_shared.
/// Completions are called from there, and may be called from inside the initiating function.
class Driver final : public std::enable_shared_from_this<Driver>, private Link::Observer {
 public:
  Driver(boost::asio::any_io_executor executor, const AgentOptions& options);

  const boost::asio::any_io_executor& executor() const { return executor_; }

  /// Connects and establishes a session; once it is over it may be called again.
  void open(const net::HostPort& target, Completion done);
  /// Opens a session as after the loss of one, as often as that takes. set_reconnect() comes first.
  void keep_open(const net::HostPort& target);
  /// Ends the session with ST after the replies that are due, or the attempts to reconnect. While
  /// it is being opened: gives up, and open() fails with AgentError::kTerminated.
  void close(Completion done);
  /// Sends a policy rule request, or keeps it until there is room or a session again. `rule`: its
  /// subject, if it exists already.
  void transact(const Body& request, std::optional<PolicyRuleId> rule, Completion done);
  /// A PER or PEA request whose rule is held from then on; Outcome::held says as which.
  void enable_and_hold(const Body& request, Completion done);
  /// Ends a rule that is held; succeeds also if it is gone already.
  void end_rule(HeldRule held, Completion done);
  /// The rules that are held.
  Keeper& keeper() { return keeper_; }
  /// The next rule event, now or when it comes; fails with the reason of the session's end when
  /// that comes or came first and the session is not opened again. One call at a time.
  void next_event(Completion done);
  /// Those of the last session that was opened.
  const Capabilities& capabilities() const { return capabilities_; }
  /// Why the last session ended.
  const boost::system::error_code& end_reason() const { return end_reason_; }
  /// From now on a lost session is opened again. For those that cannot say so in the options.
  void set_reconnect(Reconnect reconnect) { reconnection_.set(std::move(reconnect)); }
  /// Breaks the connection: everything that waits ends with AgentError::kConnectionLost.
  void shut_down();

 private:
  /// A request that waits for its turn.
  struct Waiting {
    Body request;
    std::optional<PolicyRuleId> rule;
    Instant deadline;
    Completion done;
  };

  // Link::Observer
  void on_open(const Capabilities& capabilities) override;
  void on_reply(TransactionId tid, const Body& body) override { transactions_.on_reply(tid, body); }
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override;
  void on_turn() override { send_waiting(); }
  void on_down(const boost::system::error_code& reason) override { end(reason); }

  bool is_open() const { return link_.is_open(); }
  /// There is no session, or the session ends and another will be opened.
  bool will_reopen() const {
    return reconnection_.under_way() || (reconnection_.enabled() && link_.established());
  }
  void connect();
  void send(Waiting request);
  /// Sends as many of the waiting requests as there is room for.
  void send_waiting();
  /// Requests of a turn of the loop leave in one write.
  void flush_soon();
  /// The session is over: everything that waits learns the reason, unless another will be opened.
  void end(const boost::system::error_code& reason, bool may_reopen = true);
  /// Everything that waits for a session learns that there will be none.
  void give_up(const boost::system::error_code& reason);
  /// Gives up the session, or the attempts to open another one.
  void stop(const boost::system::error_code& reason);
  void arm_timer();
  void disarm_timer();
  void on_timer();

  boost::asio::any_io_executor executor_;
  std::chrono::milliseconds timeout_;
  boost::asio::steady_timer timer_;  ///< expires at the maximum while it is not armed
  SessionLink link_;
  Reconnection reconnection_;
  Completion opening_;
  Completion closing_;
  Instant closing_deadline_;
  Completion waiting_for_event_;
  AgentTransactions transactions_;
  std::deque<Waiting> waiting_;  ///< in the order of their calls, and so of their deadlines
  Keeper keeper_;
  Capabilities capabilities_;
  boost::system::error_code end_reason_;  ///< why the last session ended
  bool flush_posted_ = false;
};

}  // namespace simco::agent
