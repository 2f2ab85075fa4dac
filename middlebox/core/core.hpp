// The middlebox without I/O: sessions, admission, policy engine, commit pipeline and notifications.
// Octets come in through channels, time through a clock, results from backend and store; octets,
// batches and the next deadline go out.
//
// Each entry opens a Turn. At the end of the outermost one, the pipeline advances as far as it can,
// the channels with output are flushed, and the host learns the next deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/commit/pipeline.hpp"
#include "middlebox/core/admission_control.hpp"
#include "middlebox/core/connection.hpp"
#include "middlebox/core/notifier.hpp"
#include "middlebox/core/options.hpp"
#include "middlebox/limits.hpp"
#include "middlebox/observe/audit_log.hpp"
#include "middlebox/observe/line_budget.hpp"
#include "middlebox/observe/metrics.hpp"
#include "middlebox/observe/refusal_log.hpp"
#include "simco/net/crowd.hpp"

namespace simco::middlebox {

/// Belongs to one thread.
class Core final : private Connection::Owner,
                   private CommitPipeline::Observer,
                   private AdmissionControl::Host {
 public:
  enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

  /// What the core needs from its owner.
  class Host {
   public:
    /// on_deadline() must be called at `at`, instead of any time named before.
    virtual void wake_at(Instant at) = 0;
    virtual ChallengeOctets make_challenge() = 0;
    virtual void log(LogLevel level, const std::string& line) = 0;

   protected:
    ~Host() = default;
  };

  /// `journal` is nullptr if rules end with the process, `metrics` if nothing is counted. All
  /// arguments must outlive this.
  Core(const CoreOptions& options, const Clock& clock, backend::Backend& backend, Journal* journal,
       Metrics* metrics, Host& host);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  /// Begins to enforce rules, beginning with those in `contents` (of the store called `place`) if
  /// there is a journal. Must be called once, before the first accept(). Throws as Backend::begin()
  /// and recover() do.
  void start(const store::Contents& contents, const std::string& place);
  void start();
  /// The store has lost all rules: has the journal write them again.
  void restore_store();

  /// Takes a new connection of a listener that requires `require`. Closes it if there are too many.
  void accept(std::shared_ptr<net::MessageChannel> channel, Require require);
  /// Must be called at the time of Host::wake_at().
  void on_deadline();

  /// Applies a new configuration of agents, and the middlebox's own secret. Rules stay; sessions of
  /// agents that are no longer allowed get AST.
  void apply(policy::AgentDirectory directory, std::string secret);
  /// Orderly stop: AST to every session after its replies. Calls `stopped` from on_deadline() when
  /// all are gone, after kStopTimeout at the latest.
  void stop(std::function<void()> stopped);
  /// Logs a warning about a peer, if the rate limit allows it.
  void warn_about(std::string_view peer, std::string_view what) override;

  /// Returns what those of the rules have counted that are in force, if the backend counts.
  std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> traffic(
      std::span<const PolicyRuleId> pids);

  std::size_t connection_count() const { return connections_.size(); }
  std::size_t session_count() const { return notifier_.count(); }
  std::size_t rule_count() const { return engine_.rule_count(); }

 private:
  // Connection::Owner
  void begin_turn() override;
  void end_turn() override;
  Instant now() const override;
  bool turn_used_up() const override { return clock_.now() - now() > kTurnMax; }
  ChallengeOctets make_challenge() override { return host_.make_challenge(); }
  rule::AgentId acquire(const std::string& name) override { return engine_.acquire(name); }
  std::string_view name_of(rule::AgentId agent) const override { return engine_.name(agent); }
  Capabilities session_opened(Connection& connection) override;
  void session_refused(NegativeReplyCode code) override;
  void message_refused(const Connection& connection, NegativeReplyCode code) override;
  void flush_later(Connection& connection) override { to_flush_.push_back(&connection); }
  void wake_at(Connection& connection, Instant at) override;
  void output_changed(std::ptrdiff_t octets) override;
  bool too_much_output() const override { return output_ > options_.output_max; }
  void connection_over(Connection& connection) override;

  // Connection::Owner and AdmissionControl::Host
  bool has_room() const override { return notifier_.count() < options_.sessions_max; }

  // AdmissionControl::Host
  std::size_t sessions_of(std::string_view name) const override;
  void on_authentication_failed(const Candidate& candidate, std::string_view name) override;

  // CommitPipeline::Observer
  void on_decided(const rule::Decision& decision) override { audit_.record(decision, now()); }
  void on_refused(const CommitPipeline::Refusal& refusal) override;
  void on_rule_event(const policy::RuleEvent& event, const Requester* cause) override {
    notifier_.notify(event, cause);
  }
  std::size_t audience(rule::AgentId owner) const override { return notifier_.audience(owner); }
  void on_expiry_failed(PolicyRuleId pid) override;
  void on_stage_done() override { const Turn turn(*this); }

  /// A connection and what the core knows about it.
  struct Entry {
    std::unique_ptr<Connection> connection;
    std::optional<Instant> wake_at;
    std::uint64_t opened_at = 0;  ///< PolicyEngine::id_position() when the session opened
  };

  static policy::PolicyEngine::Options engine_options(const CoreOptions& options,
                                                      const backend::Backend& backend,
                                                      bool durable);
  void debug(const Connection& connection, const std::string& what);
  /// Too many connections have no session: closes this one, unless the token that it has sent is
  /// right.
  void make_room(Connection& guest);
  net::Crowd<Connection*>& guests_like(const Connection& connection) {
    return connection.costly() ? association_guests_ : guests_;
  }
  void flush_all();
  void update_metrics();
  void wake_connections();
  void check_session_ages();
  /// Destroys connections that have ended and have no request in progress.
  void reap();
  void look_at_deadlines();
  std::optional<Instant> next_deadline() const;

  CoreOptions options_;
  const Clock& clock_;
  Journal* journal_;
  backend::Backend& backend_;
  Metrics* metrics_;
  Host& host_;
  policy::PolicyEngine engine_;
  CommitPipeline pipeline_;
  AdmissionControl admission_;
  Notifier notifier_;
  AuditLog audit_;
  PeerLog peer_log_;
  RefusalLog refusal_log_;

  /// By their numbers, so that loops over all connections have the same order in every run.
  std::unordered_map<std::uint64_t, Entry> connections_;
  std::uint64_t connections_made_ = 0;
  /// Without a session; those over transports whose connections are costly apart.
  net::Crowd<Connection*> guests_;
  net::Crowd<Connection*> association_guests_;
  std::vector<Connection*> to_flush_;
  std::vector<Connection*> over_;  ///< may be destroyed when no turn is in progress
  std::size_t output_ = 0;         ///< octets in all output queues

  int turns_ = 0;  ///< nested
  Instant now_;    ///< of the turn
  /// All deadlines. The host wakes us for the earliest.
  std::set<std::pair<Instant, std::uint64_t>> wake_connections_at_;
  std::optional<Instant> check_ages_at_;
  std::optional<Instant> stop_at_;
  bool more_to_do_ = false;  ///< to be done soon, after other events of the loop
  std::optional<Instant> woken_at_;
  std::function<void()> stopped_;  ///< while stopping
  bool has_stopped_ = false;
};

}  // namespace simco::middlebox
