// The middlebox as a program: listeners, connections, the engine and its backend on one event loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "middlebox/audit_log.hpp"
#include "middlebox/clock.hpp"
#include "middlebox/commit/pipeline.hpp"
#include "middlebox/commit/store_thread.hpp"
#include "middlebox/connection.hpp"
#include "middlebox/limits.hpp"
#include "middlebox/line_budget.hpp"
#include "middlebox/listener_settings.hpp"
#include "middlebox/metrics.hpp"
#include "middlebox/throttle.hpp"
#include "simco/net/crowd.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/read_buffer.hpp"

namespace simco::middlebox {

struct ServerOptions {
  net::ListenOptions listen;  ///< port 0: any free one, see Server::ports()
  Require require = Require::kNone;
  std::vector<ListenerSettings> further_listeners;
  std::chrono::milliseconds message_timeout{60'000};
  std::uint32_t lifetime_max_s = policy::kLifetimeMaxDefault;
  std::uint32_t rules_max = policy::kRulesMaxDefault;
  std::uint32_t elements_max = policy::kElementsMaxDefault;
  std::uint32_t sessions_max = kSessionsMaxDefault;
  policy::NatTable::Options nat;  ///< mode and pools
  /// Who may do what.
  policy::AgentDirectory directory = policy::AgentDirectory::open_to_all();
  /// Audit lines in a second at most; 0: none.
  std::uint32_t audit_rate = kAuditRateDefault;
  /// Connections and associations without a session, see kGuestsMax.
  std::size_t guests_max = kGuestsMax;
  std::size_t association_guests_max = kAssociationGuestsMax;
  /// See kAuthenticationPenalty.
  std::chrono::seconds authentication_pause{kAuthenticationPenalty};
  /// Output that waits for peers, see kOutputTotalMax.
  std::size_t output_max = kOutputTotalMax;
  std::string secret;  ///< with which the middlebox proves itself; empty: it cannot
};

/// Lives on one io_context, on its one thread.
class Server final : private Connection::Owner,
                     private CommitPipeline::Observer,
                     private Journal::Monitor {
 public:
  /// Binds and listens; nobody is accepted before start(). Throws std::runtime_error with a
  /// sentence if it cannot. `backend`, and `metrics` and `store` if there are any, must outlive it.
  Server(boost::asio::io_context& io, const ServerOptions& options, backend::Backend& backend,
         Metrics* metrics = nullptr, store::Store* store = nullptr);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Begins to enforce, with the rules of an earlier life if `store` has some, and to accept. To be
  /// called once, before the loop runs, when nothing else of the start can fail: a start that fails
  /// must leave in the kernel what it found there. Throws std::runtime_error with a sentence.
  void start();

  /// Port of each listener: one for each address of TCP and one for each endpoint of SCTP, in the
  /// order of the transports, the further listeners after them.
  std::vector<std::uint16_t> ports() const;

  /// From now on `directory` says who may do what, and `secret` is the middlebox's. Rules stay;
  /// sessions of agents that are no longer allowed get AST.
  void apply(policy::AgentDirectory directory, const std::string& secret);

  /// TLS for connections from now on; sessions go on as they are.
  void set_tls(const std::shared_ptr<const net::TlsContext>& tls);

  /// Calls `taken` when another middlebox has taken the rules over: this one must stop.
  void on_taken(std::function<void()> taken) { taken_ = std::move(taken); }

  /// Orderly stop: no new connections, AST to every session after its replies. `stopped` is called
  /// when all are gone, after kStopTimeout at the latest.
  void stop(std::function<void()> stopped);

  std::size_t connection_count() const { return connections_.size(); }
  std::size_t session_count() const { return session_count_; }
  std::size_t rule_count() const { return engine_.rule_count(); }

 private:
  // Connection::Owner and CommitPipeline::Observer
  Instant now() const override;
  bool has_room() const override { return session_count_ < options_.sessions_max; }
  MiddleboxSession::Welcome welcome(Connection& connection, bool challenged) override;
  std::vector<std::byte> prove(std::span<const std::byte> challenge) override;
  MiddleboxSession::Judgement judge(Connection& connection,
                                    const std::optional<ChallengeOctets>& challenge,
                                    const std::optional<Token>& token) override;
  Capabilities session_opened(Connection& connection) override;
  void session_refused(NegativeReplyCode code) override;
  void warn_about(std::string_view peer, std::string_view what) override {
    peer_log_.warn(peer, what, now());
  }
  void submit(Connection& connection, TransactionId tid, const Body& request) override;
  std::string_view name_of(policy::AgentId agent) const override { return engine_.name(agent); }
  void mark_dirty(Connection& connection) override;
  void end_turn() override;
  void output_changed(std::ptrdiff_t octets) override {
    output_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(output_) + octets);
  }
  bool too_much_output() const override { return output_ > options_.output_max; }
  bool turn_used_up() const override { return std::chrono::steady_clock::now() - now() > kTurnMax; }
  void connection_over(Connection& connection) override;
  void on_decided(const rule::Decision& decision) override;
  void on_rule_event(const policy::RuleEvent& event, const Requester* cause) override;
  void on_expiry_failed(PolicyRuleId pid) override;
  void on_stage_done() override;
  void on_store_failing(const std::string& why) override;
  void on_store_working() override;
  void on_store_taken() override;

  static policy::PolicyEngine::Options engine_options(const ServerOptions& options,
                                                      const backend::Backend& backend,
                                                      bool durable);
  /// What agents at that address may do without authentication, if anything.
  const policy::AgentPolicy* anonymous_policy(const IpAddress& address) const;
  /// Finds the agent that the connection's certificate names, and takes it for authenticated.
  const policy::AgentPolicy* recognize(Connection& connection) const;
  /// What becomes of an agent that has authenticated as `name`; nothing: it may have a session.
  std::optional<NegativeReplyCode> refuse_agent(const Connection& connection, std::string_view name,
                                                const policy::AgentPolicy& policy) const;
  /// For a token with `name`; without one nothing was judged.
  MiddleboxSession::Judgement refuse_token(const Connection& connection,
                                           std::optional<std::string_view> name);
  /// The refusal for one more session of the agent called `name`, if there is cause.
  std::optional<NegativeReplyCode> refuse_session(std::string_view name,
                                                  const policy::AgentPolicy& policy) const;
  bool still_allowed(const Connection& connection) const;
  void listen(net::ListenOptions options, Require require);
  void accept(std::shared_ptr<net::MessageChannel> channel, Require require);
  /// Too many have no session: this one has to go, unless what it has sent proves it right.
  void make_room(Connection& guest);
  net::Crowd<Connection*>& guests_like(const Connection& connection) {
    return connection.transport() == net::Transport::kSctp ? association_guests_ : guests_;
  }
  void notify_sessions(policy::AgentId agent, const policy::RuleEvent& event,
                       const Requester* cause);
  void flush_dirty();
  void update_metrics();
  void arm_timer();
  void continue_soon();
  void check_session_ages();
  void schedule_reap();
  /// Destroys connections that are over and have no request under way.
  void reap();
  void bury(Connection& connection);
  void finish_stop();

  boost::asio::io_context& io_;
  ServerOptions options_;
  backend::Backend& backend_;
  std::unique_ptr<policy::AgentDirectory> directory_;
  Metrics* metrics_;
  Throttle throttle_;
  MiddleboxSession::Options session_options_;
  policy::PolicyEngine engine_;
  SystemClock clock_;
  store::Store* store_;
  std::optional<StoreThread> store_thread_;
  std::optional<Journal> journal_;
  CommitPipeline pipeline_;
  AuditLog audit_;
  PeerLog peer_log_;
  std::vector<std::unique_ptr<net::Listener>> listeners_;
  std::unique_ptr<net::ReadBuffer> read_buffer_;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  /// Without a session, over TCP and over SCTP.
  net::Crowd<Connection*> guests_;
  net::Crowd<Connection*> association_guests_;
  /// Connections with an open session, by agent.
  std::unordered_map<policy::AgentId, std::vector<Connection*>> sessions_;
  std::vector<Connection*> dirty_;
  std::vector<Connection*> over_;  ///< may be destroyed when the stack is clean
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer age_timer_;
  boost::asio::steady_timer stop_timer_;
  std::function<void()> stopped_;
  std::function<void()> taken_;
  /// The time of this turn of the loop: read at first use, forgotten by end_turn(), with which
  /// every entry from the loop ends.
  mutable std::optional<Instant> now_;
  std::optional<Instant> timer_at_;
  std::size_t session_count_ = 0;  ///< open ones: who has not authenticated takes no place
  std::size_t output_ = 0;         ///< octets that wait for peers to read
  bool ending_turn_ = false;
  bool continuing_ = false;
  bool reap_scheduled_ = false;
};

}  // namespace simco::middlebox
