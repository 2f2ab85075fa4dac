// The middlebox without I/O: sessions, admission, policy engine, commit pipeline and notifications.
// Octets come in through channels, time through a clock, results from backend and store; octets,
// batches and the next deadline go out.
//
// Each entry opens a Turn. At the end of the outermost one, the pipeline advances as far as it can,
// the channels with output are flushed, and the host learns the next deadline.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/commit/pipeline.hpp"
#include "middlebox/core/admission_control.hpp"
#include "middlebox/core/connection.hpp"
#include "middlebox/core/connections.hpp"
#include "middlebox/core/event_log.hpp"
#include "middlebox/core/options.hpp"
#include "middlebox/core/rule_service.hpp"
#include "middlebox/limits.hpp"
#include "middlebox/observe/metrics.hpp"
#include "simco/wire/instant.hpp"

namespace simco::middlebox {

/// Sessions end by themselves, or after kStopTimeout.
class OrderlyStop {
 public:
  /// Calls `stopped` from report(), once the stop is complete.
  void begin(Instant now, std::function<void()> stopped) {
    at_ = now + kStopTimeout;
    stopped_ = std::move(stopped);
  }
  bool begun() const { return at_.has_value(); }
  /// Returns when it is complete at the latest, if it has begun.
  std::optional<Instant> latest() const { return at_; }
  bool due(bool all_gone, Instant now) const { return at_ && (all_gone || *at_ <= now); }
  void complete() { complete_ = true; }
  bool is_complete() const { return complete_; }
  void report() {
    if (complete_ && stopped_) std::exchange(stopped_, nullptr)();
  }

 private:
  std::optional<Instant> at_;
  std::function<void()> stopped_;
  bool complete_ = false;
};

/// Belongs to one thread.
class Core final : private Connection::Owner,
                   private CommitPipeline::Observer,
                   private AdmissionControl::Host {
 public:
  using LogLevel = middlebox::LogLevel;

  /// The owner of the core.
  class Host {
   public:
    /// on_deadline() must be called at `at`, instead of any time named before.
    virtual void wake_at(Instant at) = 0;
    virtual ChallengeOctets make_challenge() = 0;
    virtual void log(LogLevel level, const std::string& line) = 0;
    /// The rules of another middlebox are all here, and ours from now on: connections may come.
    virtual void on_became_owner() {}

   protected:
    ~Host() = default;
  };

  /// `journal` is nullptr if rules end with the process, `metrics` if nothing is counted. All
  /// arguments must outlive this.
  Core(const CoreOptions& options, const Clock& clock, backend::Backend& backend, Journal* journal,
       Metrics* metrics, Host& host);

  /// Begins to enforce rules, beginning with those in `contents` (of the store called `place`) if
  /// there is a journal. Must be called once, before the first accept(). Throws as Backend::begin()
  /// and recover() do.
  void start(const store::Contents& contents, const std::string& place);
  void start();
  /// Another middlebox, whose rules the core began with, has made these changes: follows them, and
  /// calls `done` then. There are no connections before they are `owned`.
  void follow(store::Changes changes, Following::Done done);
  /// Packets may pass by those rules until then, even if this process stands still.
  void lease(Instant until) {
    if (following() && !stop_.begun()) rules_.lease(until);
  }
  bool following() const { return rules_.following() != nullptr; }
  /// The store has lost all rules: has the journal write them again.
  void restore_store() { rules_.restore_store(); }

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
      std::span<const PolicyRuleId> pids) {
    return rules_.traffic(pids);
  }

  std::size_t connection_count() const { return connections_.size(); }
  std::size_t session_count() const { return notifier_.count(); }
  std::size_t rule_count() const { return rules_.engine().rule_count(); }

 private:
  // Connection::Owner
  void begin_turn() override { turn_.begin(); }
  void end_turn() override;
  Instant now() const override { return turn_.now(); }
  bool turn_used_up() const override { return turn_.used_up(); }
  ChallengeOctets make_challenge() override { return host_.make_challenge(); }
  rule::AgentId acquire(const std::string& name) override { return rules_.engine().acquire(name); }
  std::string_view name_of(rule::AgentId agent) const override {
    return rules_.engine().name(agent);
  }
  Capabilities session_opened(Connection& connection) override;
  void session_refused(NegativeReplyCode code) override;
  void message_refused(const Connection& connection, NegativeReplyCode code) override {
    log_.message_refused(connection, code, now());
  }
  void flush_later(Connection& connection) override { connections_.flush_later(connection); }
  void wake_at(Connection& connection, Instant at) override {
    wake_times_.add(connection.number(), at);
  }
  void connection_over(Connection& connection) override;

  // Connection::Owner and AdmissionControl::Host
  bool has_room() const override { return notifier_.count() < options_.sessions_max; }

  // AdmissionControl::Host
  std::size_t sessions_of(std::string_view name) const override;
  void on_authentication_failed(const Candidate& candidate, std::string_view name) override;

  // CommitPipeline::Observer
  void on_decided(const rule::Decision& decision) override;
  void on_refused(const CommitPipeline::Refusal& refusal) override {
    log_.request_refused(refusal, rules_.engine(), now());
  }
  void on_rule_event(const policy::RuleEvent& event, const Requester* cause) override {
    notifier_.notify(event, cause);
  }
  std::size_t audience(rule::AgentId owner) const override { return notifier_.audience(owner); }
  void on_expiry_failed(PolicyRuleId pid) override;
  void on_stage_done() override { const Turn turn(*this); }

  /// Too many connections have no session: closes this one, unless the token that it has sent is
  /// right.
  void make_room(Connection& guest);
  /// Ends following() if the store is ours and nothing of it is left to do.
  void look_at_following();
  void update_metrics();
  void wake_connections();
  void check_session_ages();
  void look_at_deadlines();
  /// Returns the next deadline. `more_to_do`: soon, after other events of the loop.
  std::optional<Instant> next_deadline(bool more_to_do) const;

  CoreOptions options_;
  const Clock& clock_;
  Metrics* metrics_;
  Host& host_;
  RuleService rules_;
  AdmissionControl admission_;
  Notifier notifier_;
  EventLog log_;
  OutputBudget output_;
  Connections connections_;
  Guests guests_;
  TurnClock turn_;
  WakeTimes wake_times_;
  std::optional<Instant> woken_at_;  ///< the host has been asked for that
  OrderlyStop stop_;
};

}  // namespace simco::middlebox
