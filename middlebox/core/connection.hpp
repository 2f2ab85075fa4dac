// The connection of one agent: connects its channel, its session and its requests in progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/commit/pipeline.hpp"
#include "middlebox/core/admission_control.hpp"
#include "middlebox/limits.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/session/middlebox_session.hpp"
#include "simco/wire/assert.hpp"
#include "simco/wire/messages.hpp"

namespace simco::middlebox {

/// Has turns: the handling of events between two waits for input. The time is the same for all of
/// them, and the results (batches, output, the next deadline) go out at the end of the turn.
class Turns {
 public:
  virtual void begin_turn() = 0;
  virtual void end_turn() = 0;

 protected:
  ~Turns() = default;
};

/// The turn in progress and its time.
class TurnClock {
 public:
  explicit TurnClock(const Clock& clock) : clock_(clock) {}

  void begin() {
    if (depth_++ == 0) now_ = clock_.now();
  }
  void end() {
    SIMCO_ASSERT(depth_ > 0);
    --depth_;
  }
  bool in_progress() const { return depth_ > 0; }
  /// True if the turn in progress is not within another.
  bool outermost() const { return depth_ == 1; }
  Instant now() const {
    SIMCO_ASSERT(in_progress());
    return now_;
  }
  /// True if the turn has lasted for kTurnMax.
  bool used_up() const { return clock_.now() - now() > kTurnMax; }

 private:
  const Clock& clock_;
  int depth_ = 0;
  Instant now_;
};

/// Makes its scope a turn, or a part of the turn in progress: turns nest, and the outermost counts.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(&turns) { turns.begin_turn(); }
  Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (turns_ != nullptr) turns_->end_turn();
  }

 private:
  Turns* turns_;
};

/// Peers that do not read: a bound for the octets in all output queues together.
class OutputBudget {
 public:
  /// `max`: see kOutputTotalMax.
  explicit OutputBudget(std::size_t max) : max_(max) {}

  void exchange(std::size_t before, std::size_t after) { octets_ += after - before; }
  bool exceeded() const { return octets_ > max_; }

 private:
  std::size_t max_;
  std::size_t octets_ = 0;
};

/// The octets in the queue of one connection, as counted in the budget.
class OutputShare {
 public:
  /// `budget` must outlive this.
  explicit OutputShare(OutputBudget& budget) : budget_(budget) {}

  void set(std::size_t octets) {
    budget_.exchange(octets_, octets);
    octets_ = octets;
  }
  /// The connection is over: the rest of its queue counts no more.
  void end() {
    set(0);
    ended_ = true;
  }
  bool ended() const { return ended_; }
  /// True if the budget is exceeded, and this by more than its share.
  bool too_large() const { return octets_ > kOutputShare && budget_.exceeded(); }

 private:
  OutputBudget& budget_;
  std::size_t octets_ = 0;
  bool ended_ = false;
};

/// Peers that send without end: whether the input is paused, and when to look at the clock.
class InputPace {
 public:
  /// True if the clock must be read after this message: it may have taken long, or is one of many.
  bool must_look(std::span<const std::byte> message) {
    const auto type = static_cast<SubType>(message[1]);
    const bool heavy = type == SubType::kPrl || type == SubType::kPdr;
    return heavy || ++messages_ % kMessagesPerLook == 0;
  }
  void pause() { paused_ = true; }
  bool paused() const { return paused_; }
  void resume() { paused_ = false; }

 private:
  std::uint32_t messages_ = 0;
  bool paused_ = false;
};

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
