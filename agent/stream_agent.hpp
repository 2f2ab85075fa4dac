// An agent over a byte stream, without I/O: octets and times go in; octets, completions and a
// deadline come out. For programs with an event loop of their own; the C library's first level is
// this class. TLS, if wanted, is the caller's: it protects the octets.
//
// Threads: none of its own; use one object from one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "agent/error.hpp"
#include "simco/binding/framer.hpp"
#include "simco/net/frame_splitter.hpp"
#include "simco/session/agent_session.hpp"
#include "simco/session/agent_transactions.hpp"

namespace simco::agent {

class StreamAgent final : private AgentSession::Host {
 public:
  /// Receives the events of the session. No call may destroy the agent.
  class Observer {
   public:
    /// The session is OPEN (RFC 4540 section 7.2).
    virtual void on_open(const Capabilities& capabilities) = 0;
    /// A rule event can be taken with take_event().
    virtual void on_event() = 0;
    /// The session is over, or could not be opened; the last call. Close the connection once
    /// output() is empty. `reason` is AgentError::kTerminated after close().
    virtual void on_end(const boost::system::error_code& reason) = 0;

   protected:
    ~Observer() = default;
  };

  struct Options {
    /// For opening the session, and for each transaction until its reply.
    std::chrono::milliseconds timeout = kAgentTimeoutDefault;
    AgentSession::Authentication authentication = {};
  };

  /// Creates an agent for a connection that is established at `now`, and queues the SE request.
  /// `observer` must outlive the agent.
  StreamAgent(Observer& observer, const Options& options, Instant now);

  /// Sends a policy rule request. `rule`: its subject, if it exists already. Returns success, or
  /// why nothing was sent and `done` will not be called: AgentError::kNotOpen, kOverloaded or
  /// kTidsExhausted.
  boost::system::error_code request(const Body& body, std::optional<PolicyRuleId> rule, Instant now,
                                    AgentTransactions::Completion done);
  /// Ends the session with ST (7.4); replies that are due still come.
  void close(Instant now);

  /// Takes octets that arrived. Ignored once the session has ended.
  void feed(std::span<const std::byte> octets);
  /// The connection was lost, or is given up: all open requests end with `reason`.
  void connection_lost(const boost::system::error_code& reason = AgentError::kConnectionLost) {
    end(reason);
  }

  /// Returns when on_deadline() must be called, if at all. Calling it earlier is harmless.
  std::optional<Instant> next_deadline() const;
  void on_deadline(Instant now);

  /// Returns octets for the middlebox, valid until the next call of a non-const member.
  std::span<const std::byte> output() const;
  /// Removes the first `count` octets of output(), which were passed to the connection.
  void consume(std::size_t count);

  /// Returns the oldest rule event that was not taken yet (5.3.19), or nullopt.
  std::optional<RuleEvent> take_event() { return transactions_.take_event(); }
  bool is_open() const { return session_.state() == SessionState::kOpen; }
  bool over() const { return over_; }
  /// Returns why the session ended.
  const boost::system::error_code& end_reason() const { return end_reason_; }

 private:
  // AgentSession::Host
  void send(TransactionId tid, const Body& body) override;
  void on_open(const Capabilities& capabilities) override;
  void on_reply(TransactionId tid, const Body& reply) override;
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override;
  void on_end(SessionEnd how, std::optional<NegativeReplyCode> code) override;

  void end(const boost::system::error_code& reason);

  Observer& observer_;
  std::chrono::milliseconds timeout_;
  AgentSession session_;
  AgentTransactions transactions_;
  net::FrameSplitter splitter_{kMessageFramer};
  std::vector<std::byte> output_;
  std::size_t consumed_ = 0;                 ///< octets at the beginning of output_ that are gone
  std::optional<Instant> control_deadline_;  ///< until which SE, SA or ST must be answered
  boost::system::error_code end_reason_;
  bool over_ = false;
};

}  // namespace simco::agent
