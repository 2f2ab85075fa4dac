// In this order: the start, turns, deadlines, connections with their admission and sessions, and
// the end.
#include "middlebox/core/core.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/commit/recovery.hpp"
#include "middlebox/observe/words.hpp"
#include "middlebox/policy/refusal_reason.hpp"
#include "simco/wire/assert.hpp"

namespace simco::middlebox {

Core::Core(const CoreOptions& options, const Clock& clock, backend::Backend& backend,
           Journal* journal, Metrics* metrics, Host& host)
    : options_(options),
      clock_(clock),
      journal_(journal),
      backend_(backend),
      metrics_(metrics),
      host_(host),
      engine_(engine_options(options, backend, journal != nullptr)),
      pipeline_(engine_, journal, backend, *this, metrics),
      admission_(options.directory, options.secret, options.authentication_pause, *this),
      notifier_(engine_),
      audit_(options.audit_rate,
             [this](const std::string& line) { host_.log(LogLevel::kInfo, line); }),
      peer_log_(kPeerLinesPerSecond,
                [this](const std::string& line) { host_.log(LogLevel::kWarning, line); }),
      refusal_log_(kRefusalLinesPerSecond,
                   [this](const std::string& line) { host_.log(LogLevel::kInfo, line); }),
      guests_(options.guests_max),
      association_guests_(options.association_guests_max) {
  engine_.resume_ids(options.first_ids);
  engine_.apply(admission_.directory());
}

Core::~Core() = default;

policy::PolicyEngine::Options Core::engine_options(const CoreOptions& options,
                                                   const backend::Backend& backend, bool durable) {
  policy::PolicyEngine::Options result;
  result.backend = backend.capabilities();
  result.backend.persistent = durable;
  result.backend.lifetime_max_s = options.lifetime_max_s;
  result.nat = options.nat;
  result.rules_max = options.rules_max;
  result.elements_max = options.elements_max;
  return result;
}

void Core::start() {
  const Turn turn(*this);
  backend_.begin({});
  check_ages_at_ = now() + kSessionAgeCheck;
}

void Core::start(const store::Contents& contents, const std::string& place) {
  const Turn turn(*this);
  SIMCO_ASSERT(journal_ != nullptr);
  if (contents.counters != store::Counters{}) {
    engine_.resume_ids({contents.counters.next_pid, contents.counters.next_gid});
  }
  journal_->resume_ids(engine_.ids());
  const auto recovery = recover(contents, place, engine_, backend_, clock_, metrics_);
  journal_->forget(recovery.forgotten);
  for (const auto& line : recovery.losses) host_.log(LogLevel::kWarning, line);
  host_.log(LogLevel::kInfo, "restored " + std::to_string(recovery.live) +
                                 " rules from the store; " + std::to_string(recovery.expired) +
                                 " had expired, " + std::to_string(recovery.losses.size()) +
                                 " could not be restored");
  check_ages_at_ = now() + kSessionAgeCheck;
}

void Core::restore_store() {
  engine_.for_each_rule([this](const rule::RuleRecord& rule) { journal_->owe(rule); });
}

// --- Turns -------------------------------------------------------------------------------------

void Core::begin_turn() {
  if (turns_++ == 0) now_ = clock_.now();
}

Instant Core::now() const {
  SIMCO_ASSERT(turns_ > 0);
  return now_;
}

void Core::end_turn() {
  SIMCO_ASSERT(turns_ > 0);
  if (turns_ == 1) {
    more_to_do_ = pipeline_.advance(now_);
    flush_all();
    if (metrics_ != nullptr) update_metrics();
    const auto next = next_deadline();
    if (next && (!woken_at_ || *next < *woken_at_)) {
      woken_at_ = next;
      host_.wake_at(*next);
    }
  }
  --turns_;
}

void Core::flush_all() {
  // Flushing may give others something to send.
  for (std::size_t i = 0; i < to_flush_.size(); ++i) to_flush_[i]->flush();
  to_flush_.clear();
}

void Core::update_metrics() {
  metrics_->flushed();
  metrics_->set(
      {connections_.size(), notifier_.count(), engine_.group_count(), engine_.nat_usage()});
}

// --- Time --------------------------------------------------------------------------------------

std::optional<Instant> Core::next_deadline() const {
  if (has_stopped_) return std::nullopt;
  std::optional<Instant> next = pipeline_.next_expiry();
  const auto or_at = [&next](const std::optional<Instant>& other) {
    if (other && (!next || *other < *next)) next = other;
  };
  if (!wake_connections_at_.empty()) or_at(wake_connections_at_.begin()->first);
  if (journal_ != nullptr) or_at(journal_->deadline());
  or_at(check_ages_at_);
  or_at(stop_at_);
  const bool can_reap =
      std::ranges::any_of(over_, [](const auto* connection) { return connection->idle(); });
  const bool can_stop = stop_at_ && connections_.empty();
  if (more_to_do_ || can_reap || can_stop) or_at(now_);
  return next;
}

void Core::on_deadline() {
  // Connections are destroyed only here: none of them is on the stack.
  SIMCO_ASSERT(turns_ == 0);
  look_at_deadlines();
  if (has_stopped_ && stopped_) std::exchange(stopped_, nullptr)();
}

void Core::look_at_deadlines() {
  const Turn turn(*this);
  woken_at_.reset();
  reap();
  wake_connections();
  if (const auto due = pipeline_.next_expiry(); due && *due <= now_) pipeline_.expire(now_);
  if (journal_ != nullptr) journal_->on_deadline(now_);
  if (check_ages_at_ && *check_ages_at_ <= now_) check_session_ages();
  if (stop_at_ && (connections_.empty() || *stop_at_ <= now_)) {
    has_stopped_ = true;
    audit_.flush();
    peer_log_.flush();
    refusal_log_.flush();
  }
}

// Never moved back: most wishes are gone again before they are due, and then there is nothing to
// do.
void Core::wake_at(Connection& connection, Instant at) {
  auto& entry = connections_.at(connection.number());
  if (entry.wake_at && *entry.wake_at <= at) return;
  if (entry.wake_at) wake_connections_at_.erase({*entry.wake_at, connection.number()});
  entry.wake_at = at;
  wake_connections_at_.emplace(at, connection.number());
}

void Core::wake_connections() {
  while (!wake_connections_at_.empty() && wake_connections_at_.begin()->first <= now_) {
    Entry& entry = connections_.at(wake_connections_at_.begin()->second);
    wake_connections_at_.erase(wake_connections_at_.begin());
    entry.wake_at.reset();
    entry.connection->on_deadline();
  }
}

void Core::on_expiry_failed(PolicyRuleId pid) {
  host_.log(LogLevel::kError,
            "could not remove expired rule " + std::to_string(pid.value) + "; retrying");
}

// --- Connections -------------------------------------------------------------------------------

void Core::accept(std::shared_ptr<net::MessageChannel> channel, Require require) {
  const Turn turn(*this);
  if (connections_.size() >= kConnectionsMax) {
    return host_.log(LogLevel::kDebug,
                     "connection refused: connection limit reached");  // closes it
  }
  const MiddleboxSession::Options session{options_.message_timeout, channel->outbound_streams()};
  Connection::Owner& owner = *this;
  auto connection = std::make_unique<Connection>(++connections_made_, owner, admission_, pipeline_,
                                                 std::move(channel), require, session);
  Connection& started = *connection;
  connections_[started.number()].connection = std::move(connection);
  debug(started, "connected");
  started.start();
  const auto last = guests_like(started).enter(started.candidate().address, &started);
  if (last) make_room(**last);
}

void Core::make_room(Connection& guest) {
  guest.hurry();
  if (guest.session_agent()) return;
  warn_about(guest.peer_endpoint(), "closed without a session to make room for others");
  guest.cut();
}

Capabilities Core::session_opened(Connection& connection) {
  connections_.at(connection.number()).opened_at = engine_.id_position();
  guests_like(connection).leave(&connection);
  notifier_.add(connection);
  if (metrics_ != nullptr) metrics_->session_opened();
  debug(connection, "session opened for " + std::string(connection.agent_name()));
  return engine_.capabilities(connection.agent());
}

void Core::debug(const Connection& connection, const std::string& what) {
  host_.log(LogLevel::kDebug, std::string(connection.peer_endpoint()) + ": " + what);
}

void Core::session_refused(NegativeReplyCode code) {
  if (metrics_ != nullptr) metrics_->session_refused(code);
}

// A failed authentication has its warning.
void Core::message_refused(const Connection& connection, NegativeReplyCode code) {
  if (code == NegativeReplyCode::kAuthenticationFailed || !refusal_log_.wants(now())) return;
  const auto& candidate = connection.candidate();
  const bool open = connection.session_agent().has_value();
  std::string_view reason = open ? std::string_view() : candidate.refused_because;
  if (code == NegativeReplyCode::kVersionMismatch) reason = "it speaks another version of SIMCO";
  // Refused before the admission was asked.
  if (!open && reason.empty() && code == NegativeReplyCode::kLackOfResources) {
    reason = kSessionsFull;
  }
  const auto by = open ? connection.agent_name() : std::string_view(candidate.name);
  refusal_log_.write({open ? "" : "session", code, reason, "", by, candidate.endpoint});
}

void Core::on_refused(const CommitPipeline::Refusal& refusal) {
  if (!refusal_log_.wants(now())) return;
  const bool at_once = refusal.request != nullptr;
  std::string reason;
  if (at_once) {
    reason = engine_.reason(*refusal.context, *refusal.request, refusal.code);
  } else if (refusal.store_failed && refusal.result != rule::ChangeResult::kOverridden) {
    reason = "the store failed";
  } else {
    reason = engine_.reason(*refusal.change, refusal.result);
  }
  refusal_log_.write({policy::name_of(refusal.transaction), refusal.code, reason,
                      at_once ? request_fields(*refusal.request) : request_fields(*refusal.change),
                      refusal.requester.agent_name(), refusal.requester.peer_endpoint()});
}

std::size_t Core::sessions_of(std::string_view name) const {
  const auto agent = engine_.find(name);
  return agent ? notifier_.count(*agent) : 0;
}

// The peer hears of it after the pause only.
void Core::on_authentication_failed(const Candidate& candidate, std::string_view name) {
  const auto who = name.empty() ? std::string() : " for " + words::quoted(name);
  warn_about(candidate.endpoint, "authentication failed" + who + ": " + candidate.refused_because);
  if (metrics_ != nullptr) metrics_->authentication_failed();
}

void Core::warn_about(std::string_view peer, std::string_view what) {
  const Turn turn(*this);
  peer_log_.warn(peer, what, now());
}

void Core::output_changed(std::ptrdiff_t octets) {
  output_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(output_) + octets);
}

void Core::connection_over(Connection& connection) {
  guests_like(connection).leave(&connection);
  auto& entry = connections_.at(connection.number());
  if (entry.wake_at) wake_connections_at_.erase({*entry.wake_at, connection.number()});
  entry.wake_at.reset();
  if (connection.session_agent()) notifier_.remove(connection);
  over_.push_back(&connection);
  debug(connection, "connection closed");
}

void Core::reap() {
  std::erase_if(over_, [this](Connection* connection) {
    if (!connection->idle()) return false;
    const auto agent = connection->session_agent();
    connections_.erase(connection->number());
    if (agent) engine_.release(*agent);
    return true;
  });
}

void Core::check_session_ages() {
  for (const auto& [number, entry] : connections_) {
    if (entry.connection->state() == SessionState::kOpen &&
        !engine_.session_young_enough(entry.opened_at)) {
      entry.connection->terminate();
    }
  }
  peer_log_.flush();
  refusal_log_.flush();
  check_ages_at_ = now() + kSessionAgeCheck;
}

void Core::apply(policy::AgentDirectory directory, std::string secret) {
  const Turn turn(*this);
  const auto before = admission_.exchange(std::move(directory), std::move(secret));
  engine_.apply(admission_.directory());
  for (const auto& [number, entry] : connections_) {
    Connection* const connection = entry.connection.get();
    if (connection->session_agent() && !admission_.still_allowed(connection->candidate())) {
      host_.log(LogLevel::kInfo, std::string(connection->peer_endpoint()) + ": session ended, " +
                                     std::string(connection->agent_name()) +
                                     " is no longer allowed");
      connection->terminate();
    }
  }
}

// --- The end -----------------------------------------------------------------------------------

std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> Core::traffic(
    std::span<const PolicyRuleId> pids) {
  std::vector<rule::RuleRecord> rules;
  for (const auto pid : pids) {
    if (const auto rule = engine_.find(pid)) rules.push_back(*rule);
  }
  std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> result;
  auto counted = backend_.traffic(rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (counted[i]) result.emplace_back(rules[i].pid, std::move(*counted[i]));
  }
  return result;
}

void Core::stop(std::function<void()> stopped) {
  const Turn turn(*this);
  stopped_ = std::move(stopped);
  for (const auto& [number, entry] : connections_) entry.connection->terminate();
  stop_at_ = now() + kStopTimeout;
}

}  // namespace simco::middlebox
