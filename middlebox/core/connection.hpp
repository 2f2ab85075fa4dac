// The connection of one agent: connects its channel, its session and its requests in progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/commit/pipeline.hpp"
#include "middlebox/core/admission_control.hpp"
#include "middlebox/core/input_pace.hpp"
#include "middlebox/core/output_budget.hpp"
#include "middlebox/core/turn.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/session/middlebox_session.hpp"

namespace simco::middlebox {

class Connection final : private net::ChannelHandler,
                         private MiddleboxSession::Host,
                         public Requester {
 public:
  /// The core's functions for a connection, in addition to admission and pipeline.
  class Owner : public Turns {
   public:
    /// Returns the time of the turn.
    virtual Instant now() const = 0;
    /// True if the turn has lasted for kTurnMax: other connections must have theirs.
    virtual bool turn_used_up() const = 0;
    virtual bool has_room() const = 0;
    virtual ChallengeOctets make_challenge() = 0;
    /// A session begins for the agent called `name`. Returns its number.
    virtual rule::AgentId acquire(const std::string& name) = 0;
    /// Valid as long as the agent has a session.
    virtual std::string_view name_of(rule::AgentId agent) const = 0;
    /// The session is open. Returns the capabilities that are reported to its agent.
    virtual Capabilities session_opened(Connection& connection) = 0;
    virtual void session_refused(NegativeReplyCode code) = 0;
    /// A message is refused by the session itself, which is not open yet or has no use for it.
    virtual void message_refused(const Connection& connection, NegativeReplyCode code) = 0;
    /// A warning for the log.
    virtual void warn_about(std::string_view peer, std::string_view what) = 0;
    /// flush() must be called at the end of the turn.
    virtual void flush_later(Connection& connection) = 0;
    /// on_deadline() must be called at `at` at the latest.
    virtual void wake_at(Connection& connection, Instant at) = 0;
    /// The connection has ended; it may be destroyed once it is idle() and the turn has ended.
    virtual void connection_over(Connection& connection) = 0;

   protected:
    ~Owner() = default;
  };

  /// `number` counts the connections in order of creation. All but the channel must outlive this.
  /// Must be created and started within a turn.
  Connection(std::uint64_t number, Owner& owner, AdmissionControl& admission,
             CommitPipeline& pipeline, OutputBudget& output,
             std::shared_ptr<net::MessageChannel> channel, Require require,
             const MiddleboxSession::Options& options);
  ~Connection();

  void start();
  /// Sends the output of the turn, and resumes reading if it was paused.
  void flush();
  /// The middlebox ends the session in order: AST and close.
  void terminate() { session_.terminate(); }
  /// Verifies a token that is waiting for the end of a back-off now.
  void verify_now();
  /// Closes the connection at once, without a message.
  void cut();
  /// The time of Owner::wake_at() has come.
  void on_deadline();

  std::uint64_t number() const { return number_; }
  bool costly() const { return channel_->costly(); }
  const Candidate& candidate() const { return candidate_; }
  SessionState state() const { return session_.state(); }
  /// True if all its requests are decided.
  bool idle() const { return session_.in_flight() == 0; }
  /// Returns its agent, if it has or had an open session.
  std::optional<rule::AgentId> session_agent() const {
    return agent_ ? std::optional(agent_->number) : std::nullopt;
  }

  // Requester
  rule::AgentId agent() const override { return agent_->number; }
  std::string_view agent_name() const override { return owner_.name_of(agent()); }
  std::string_view peer() const override { return candidate_.peer; }
  std::string_view peer_endpoint() const override { return candidate_.endpoint; }
  std::uint32_t lifetime_max_s() const override { return agent_->lifetime_max_s; }
  void reply(TransactionId tid, const Body& body) override;
  void notify(const policy::RuleEvent& event) override;
  bool output_full() const override;

 private:
  /// The agent of its session, and what that was told.
  struct Agent {
    rule::AgentId number;
    std::uint32_t lifetime_max_s;
  };

  // net::ChannelHandler
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override;
  void on_malformed(net::FramingError error) override;
  void on_input_done(std::optional<std::chrono::nanoseconds> unfinished) override;
  void on_output_drained() override;
  void on_closed(const boost::system::error_code& reason) override;

  // MiddleboxSession::Host
  void send(TransactionId tid, const Body& body) override;
  void execute(TransactionId tid, const Body& request) override;
  bool has_room() override { return owner_.has_room(); }
  MiddleboxSession::Admission admit(bool challenged) override;
  ChallengeOctets make_challenge() override { return owner_.make_challenge(); }
  std::vector<std::byte> answer_challenge(std::span<const std::byte> challenge) override;
  MiddleboxSession::AuthResult verify(const std::optional<ChallengeOctets>& challenge,
                                      const std::optional<Token>& token) override;
  Capabilities opened() override;
  void close() override;

  /// Begins a turn that ends with the messages of one read.
  void take_turn() {
    if (!turn_) turn_.emplace(owner_);
  }
  void end_turn() { const auto ended = std::exchange(turn_, std::nullopt); }
  bool held_up() const;
  void resume_if_possible();
  void arm();
  void log_once(std::string_view what);
  void flush_later();
  /// Cuts off a peer that does not read.
  void give_up(std::string_view why);

  const std::uint64_t number_;
  Owner& owner_;
  AdmissionControl& admission_;
  CommitPipeline& pipeline_;
  std::shared_ptr<net::MessageChannel> channel_;
  Candidate candidate_;
  MiddleboxSession session_;
  std::optional<Turn> turn_;
  std::optional<Agent> agent_;
  InputPace input_;
  OutputShare output_;
  bool close_wanted_ = false;
  bool flush_wanted_ = false;  ///< reported to the owner
  bool replying_ = false;      ///< the pipeline does, and has the reason of its refusal
  bool logged_ = false;
};

}  // namespace simco::middlebox
