// In this order: the start, turns, deadlines, connections with their admission and sessions, and
// the end.
#include "middlebox/core/core.hpp"

#include <algorithm>

#include "middlebox/observe/log_lines.hpp"
#include "simco/wire/assert.hpp"

namespace simco::middlebox {

namespace {

policy::PolicyEngine::Options engine_options(const CoreOptions& options,
                                             const backend::Backend& backend, bool durable) {
  policy::PolicyEngine::Options result = options;
  result.backend = backend.capabilities();
  result.backend.persistent = durable;
  result.backend.lifetime_max_s = options.lifetime_max_s;
  return result;
}

}  // namespace

Core::Core(const CoreOptions& options, const Clock& clock, backend::Backend& backend,
           Journal* journal, Metrics* metrics, Host& host)
    : options_(options),
      clock_(clock),
      metrics_(metrics),
      host_(host),
      rules_(engine_options(options, backend, journal != nullptr), journal, backend, *this,
             metrics),
      admission_(options.directory, options.secret, options.authentication_pause, *this),
      notifier_(rules_.engine()),
      log_(options.audit_rate,
           [this](LogLevel level, const std::string& line) { host_.log(level, line); }),
      output_(options.output_max),
      connections_(rules_.engine()),
      guests_(options.guests_max, options.association_guests_max),
      turn_(clock) {
  rules_.engine().resume_ids(options.first_ids);
  rules_.engine().apply(admission_.directory());
}

void Core::start() {
  const Turn turn(*this);
  rules_.start();
  connections_.begin_age_checks(now());
}

void Core::start(const store::Contents& contents, const std::string& place) {
  const Turn turn(*this);
  const auto recovery = rules_.start(contents, place, clock_, metrics_);
  for (const auto& line : recovery.losses) log_.write(LogLevel::kWarning, line);
  log_.write(LogLevel::kInfo, "restored " + std::to_string(recovery.live) +
                                  " rules from the store; " + std::to_string(recovery.expired) +
                                  " had expired, " + std::to_string(recovery.losses.size()) +
                                  " could not be restored");
  connections_.begin_age_checks(now());
}

void Core::follow(store::Changes changes, Following::Done done) {
  const Turn turn(*this);
  // They may be of another history, by which nobody has given a lease.
  if (changes.batch.all && !changes.owned) rules_.lease({});
  rules_.following()->take(std::move(changes), std::move(done));
}

// --- Turns -------------------------------------------------------------------------------------

void Core::end_turn() {
  if (turn_.outermost()) {
    const bool more_to_do = rules_.advance(now());
    if (rules_.following() != nullptr) look_at_following();
    connections_.flush();
    if (metrics_ != nullptr) update_metrics();
    const auto next = next_deadline(more_to_do);
    if (next && (!woken_at_ || *next < *woken_at_)) {
      woken_at_ = next;
      host_.wake_at(*next);
    }
  }
  turn_.end();
}

void Core::look_at_following() {
  Following& following = *rules_.following();
  for (const auto& line : following.take_losses()) log_.write(LogLevel::kWarning, line);
  const bool done = following.report(rules_.enforces());
  if (!done || !following.owned() || stop_.begun()) return;
  rules_.take_over(now());
  host_.on_became_owner();
}

void Core::update_metrics() {
  const auto& engine = rules_.engine();
  metrics_->flushed();
  metrics_->set({connections_.size(), notifier_.count(), engine.group_count(),
                 rules_.has_lease(now()), engine.nat_usage()});
}

// --- Time --------------------------------------------------------------------------------------

std::optional<Instant> Core::next_deadline(bool more_to_do) const {
  if (stop_.is_complete()) return std::nullopt;
  const bool can_stop = stop_.begun() && connections_.size() == 0;
  if (more_to_do || connections_.can_reap() || can_stop) return now();
  return earlier(earlier(rules_.deadline(), wake_times_.next()),
                 earlier(connections_.next_age_check(), stop_.latest()));
}

void Core::on_deadline() {
  // Connections are destroyed only here: none of them is on the stack.
  SIMCO_ASSERT(!turn_.in_progress());
  look_at_deadlines();
  stop_.report();
}

void Core::look_at_deadlines() {
  const Turn turn(*this);
  woken_at_.reset();
  connections_.reap();
  wake_connections();
  rules_.on_deadline(now());
  if (const auto due = connections_.next_age_check(); due && *due <= now()) check_session_ages();
  if (stop_.due(connections_.size() == 0, now())) {
    stop_.complete();
    log_.flush_audit();
    log_.flush();
  }
}

void Core::wake_connections() {
  while (const auto number = wake_times_.take_due(now())) connections_[*number].on_deadline();
}

void Core::check_session_ages() {
  connections_.check_ages(now());
  log_.flush();
}

// What is followed is in the log of the other middlebox.
void Core::on_decided(const rule::Decision& decision) {
  Following* const following = rules_.following();
  if (following == nullptr) return log_.decided(decision, now());
  following->note(decision);
}

void Core::on_expiry_failed(PolicyRuleId pid) {
  log_.write(LogLevel::kError,
             "could not remove expired rule " + std::to_string(pid.value) + "; retrying");
}

// --- Connections -------------------------------------------------------------------------------

void Core::accept(std::shared_ptr<net::MessageChannel> channel, Require require) {
  const Turn turn(*this);
  if (connections_.size() >= kConnectionsMax) {
    return log_.write(LogLevel::kDebug,
                      "connection refused: connection limit reached");  // closes it
  }
  const MiddleboxSession::Options session{options_.message_timeout, channel->outbound_streams()};
  Connection::Owner& owner = *this;
  Connection& started = connections_.make(owner, admission_, rules_.pipeline(), output_,
                                          std::move(channel), require, session);
  log_.debug(started, "connected");
  started.start();
  if (const auto last = guests_.enter(started)) make_room(**last);
}

void Core::make_room(Connection& guest) {
  guest.verify_now();
  if (guest.session_agent()) return;
  warn_about(guest.peer_endpoint(), "closed without a session to make room for others");
  guest.cut();
}

Capabilities Core::session_opened(Connection& connection) {
  connections_.note_opened(connection);
  guests_.leave(connection);
  notifier_.add(connection);
  if (metrics_ != nullptr) metrics_->session_opened();
  log_.debug(connection, "session opened for " + std::string(connection.agent_name()));
  return rules_.engine().capabilities(connection.agent());
}

void Core::session_refused(NegativeReplyCode code) {
  if (metrics_ != nullptr) metrics_->session_refused(code);
}

std::size_t Core::sessions_of(std::string_view name) const {
  const auto agent = rules_.engine().find(name);
  return agent ? notifier_.count(*agent) : 0;
}

// The peer hears of it after the pause only.
void Core::on_authentication_failed(const Candidate& candidate, std::string_view name) {
  const auto who = name.empty() ? std::string() : " for " + in_quotes(name);
  warn_about(candidate.endpoint, "authentication failed" + who + ": " + candidate.refused_because);
  if (metrics_ != nullptr) metrics_->authentication_failed();
}

void Core::warn_about(std::string_view peer, std::string_view what) {
  const Turn turn(*this);
  log_.warn(peer, what, now());
}

void Core::connection_over(Connection& connection) {
  guests_.leave(connection);
  wake_times_.remove(connection.number());
  if (connection.session_agent()) notifier_.remove(connection);
  connections_.note_over(connection);
  log_.debug(connection, "connection closed");
}

void Core::apply(policy::AgentDirectory directory, std::string secret) {
  const Turn turn(*this);
  const auto before = admission_.exchange(std::move(directory), std::move(secret));
  rules_.engine().apply(admission_.directory());
  connections_.for_each([this](Connection& connection) {
    if (!connection.session_agent() || admission_.still_allowed(connection.candidate())) return;
    log_.write(LogLevel::kInfo, std::string(connection.peer_endpoint()) + ": session ended, " +
                                    std::string(connection.agent_name()) + " is no longer allowed");
    connection.terminate();
  });
}

// --- The end -----------------------------------------------------------------------------------

void Core::stop(std::function<void()> stopped) {
  const Turn turn(*this);
  connections_.for_each([](Connection& connection) { connection.terminate(); });
  stop_.begin(now(), std::move(stopped));
}

}  // namespace simco::middlebox
