// Transactions over a connection on an Asio executor: what the C++ agent and the C client have in
// common. Opening and ending a session, and the one timer that all deadlines share.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "agent/error.hpp"
#include "agent/link.hpp"
#include "agent/options.hpp"
#include "agent/outcome.hpp"
#include "simco/session/agent_transactions.hpp"

namespace simco::agent {

/// Lives on its executor, which must run one handler at a time; make it with std::make_shared.
/// Completions are called from there, and may be called from inside the initiating function.
class Driver final : public std::enable_shared_from_this<Driver>, private Link::Observer {
 public:
  Driver(boost::asio::any_io_executor executor, const AgentOptions& options)
      : executor_(std::move(executor)), options_(options), timer_(executor_) {}

  const boost::asio::any_io_executor& executor() const { return executor_; }

  /// Connects and establishes a session; once it is over it may be called again.
  void open(const net::HostPort& target, Completion done);
  /// Ends the session with ST after the replies that are due. While it is being opened: gives up,
  /// and open() fails with AgentError::kTerminated.
  void close(Completion done);
  /// Sends a policy rule request. `rule`: the one that it is about, if that exists already.
  void transact(const Body& request, std::optional<PolicyRuleId> rule, Completion done);
  /// The next rule event, now or when it comes; fails when the session ends first. One call at a
  /// time.
  void next_event(Completion done);
  /// Why the last session ended.
  const boost::system::error_code& end_reason() const { return end_reason_; }
  /// Breaks the connection: everything that waits ends with AgentError::kConnectionLost.
  void shut_down() { end(AgentError::kConnectionLost); }

 private:
  // Link::Observer
  void on_open(const Capabilities& capabilities) override;
  void on_reply(TransactionId tid, const Body& body) override { transactions_.on_reply(tid, body); }
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override;
  void on_turn() override {}
  void on_down(const boost::system::error_code& reason) override { end(reason); }

  /// Requests of one turn of the loop leave in one write.
  void flush_soon();
  /// The session is over: everything that waits learns why.
  void end(const boost::system::error_code& reason);
  void arm_timer();
  void on_timer();

  boost::asio::any_io_executor executor_;
  AgentOptions options_;
  boost::asio::steady_timer timer_;
  net::ReadBuffer read_buffer_;
  std::unique_ptr<Link> link_;
  Completion opening_;
  Completion closing_;
  Completion waiting_for_event_;
  Instant opening_deadline_;
  Instant closing_deadline_;
  AgentTransactions transactions_;
  boost::system::error_code end_reason_;  ///< why the last session ended
  bool timer_armed_ = false;
  bool flush_posted_ = false;
};

}  // namespace simco::agent
