// One agent's connection: joins its channel, its session and the requests it has under way.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "middlebox/commit/requester.hpp"
#include "middlebox/listener_settings.hpp"
#include "middlebox/policy/engine.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/session/middlebox_session.hpp"
#include "simco/wire/ip.hpp"

namespace simco::middlebox {

class Connection final : private net::ChannelHandler,
                         private MiddleboxSession::Host,
                         public Requester {
 public:
  /// What a connection needs of the server.
  class Owner {
   public:
    virtual Instant now() const = 0;
    /// Is there room for one more session?
    virtual bool has_room() const = 0;
    /// See MiddleboxSession::Host.
    virtual MiddleboxSession::Welcome welcome(Connection& connection, bool challenged) = 0;
    virtual std::vector<std::byte> prove(std::span<const std::byte> challenge) = 0;
    virtual MiddleboxSession::Judgement judge(Connection& connection,
                                              const std::optional<ChallengeOctets>& challenge,
                                              const std::optional<Token>& token) = 0;
    /// The session is open. Answers what the agent, set by set_agent(), is told.
    virtual Capabilities session_opened(Connection& connection) = 0;
    /// A session was refused with that code.
    virtual void session_refused(NegativeReplyCode code) = 0;
    /// A warning for the log.
    virtual void warn_about(std::string_view peer, std::string_view what) = 0;
    virtual void submit(Connection& connection, TransactionId tid, const Body& request) = 0;
    /// Valid as long as the agent has a session.
    virtual std::string_view name_of(policy::AgentId agent) const = 0;
    /// Has output that waits for flush().
    virtual void mark_dirty(Connection& connection) = 0;
    /// Requests of one read are in: time to act on them.
    virtual void end_turn() = 0;
    /// What waits in its output queue has changed by so many octets.
    virtual void output_changed(std::ptrdiff_t octets) = 0;
    /// More waits in all queues than may.
    virtual bool too_much_output() const = 0;
    /// It has gone on for kTurnMax: others are to have theirs.
    virtual bool turn_used_up() const = 0;
    /// The connection is over; it may go as soon as it is idle().
    virtual void connection_over(Connection& connection) = 0;

   protected:
    ~Owner() = default;
  };

  Connection(Owner& owner, std::shared_ptr<net::MessageChannel> channel,
             const boost::asio::any_io_executor& executor,
             const MiddleboxSession::Options& options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  void start();
  /// Sends what the turn produced, and goes on reading where that was held up.
  void flush();
  /// ARE notification, where the session is open.
  void notify(const policy::RuleEvent& event);
  /// Orderly end by the middlebox: AST and close.
  void terminate() { session_.terminate(); }
  /// A proof that waits for its judgement is judged now.
  void hurry();
  /// Ends the connection at once, without a word.
  void cut();

  net::Transport transport() const { return channel_->transport(); }
  std::string_view peer() const override { return peer_; }
  const IpAddress& address() const { return address_; }
  SessionState state() const { return session_.state(); }
  /// No request of it is undecided.
  bool idle() const { return session_.in_flight() == 0; }
  /// Its agent, while it has or had an open session.
  std::optional<policy::AgentId> session_agent() const { return agent_; }
  void set_agent(policy::AgentId agent) { agent_ = agent; }
  /// Names in its certificate; nothing where it has come without TLS.
  const std::optional<std::vector<std::string>>& certified_names() const {
    return certified_names_;
  }
  /// What its listener demands.
  Require require = Require::kNone;
  /// Name that it has proven; empty: it does not authenticate.
  std::string authenticated_name;
  /// Its proof has waited for its turn.
  bool proof_has_waited = false;
  /// PolicyEngine::id_position() at the opening.
  std::uint64_t opened_at = 0;
  /// Set while the server has it on its list of connections to flush.
  bool dirty = false;

  // Requester
  policy::AgentId agent() const override { return *agent_; }
  std::string_view agent_name() const override { return owner_.name_of(*agent_); }
  std::uint32_t lifetime_max_s() const override { return lifetime_max_s_; }
  void reply(TransactionId tid, const Body& body) override { session_.reply(tid, body); }

 private:
  // net::ChannelHandler
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override;
  void on_malformed(DecodeError error) override;
  void on_input_done(bool mid_message) override;
  void on_output_drained() override;
  void on_closed(const boost::system::error_code& reason) override;

  // MiddleboxSession::Host
  void send(TransactionId tid, const Body& body) override;
  void execute(TransactionId tid, const Body& request) override;
  bool admit() override { return owner_.has_room(); }
  MiddleboxSession::Welcome welcome(bool challenged) override;
  ChallengeOctets make_challenge() override { return random_challenge(); }
  std::vector<std::byte> prove(std::span<const std::byte> challenge) override;
  MiddleboxSession::Judgement judge(const std::optional<ChallengeOctets>& challenge,
                                    const std::optional<Token>& token) override;
  Capabilities opened() override;
  void close() override;

  bool held_up() const;
  /// Is it time, after this message, to let others have their turn?
  bool must_yield(std::span<const std::byte> message);
  void resume_if_possible();
  void arm_timer();
  void log_once(std::string_view what);
  /// Tells the owner of what has been queued, or taken, since the last time.
  void count_output(std::size_t queued);
  /// The peer does not read: it cannot be told, so it is cut off.
  void give_up(std::string_view why);

  Owner& owner_;
  std::shared_ptr<net::MessageChannel> channel_;
  boost::asio::steady_timer timer_;
  MiddleboxSession session_;
  std::string peer_;
  std::optional<std::vector<std::string>> certified_names_;
  IpAddress address_;
  std::optional<policy::AgentId> agent_;
  std::uint32_t lifetime_max_s_ = 0;
  std::optional<Instant> timer_at_;
  std::uint32_t messages_ = 0;
  std::size_t output_ = 0;  ///< that the owner knows of
  bool over_ = false;       ///< the channel is closed: nothing of its output counts any more
  bool paused_ = false;
  bool close_wanted_ = false;
  bool logged_ = false;
};

}  // namespace simco::middlebox
