#include "middlebox/server.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "middlebox/commit/recovery.hpp"
#include "simco/net/error.hpp"

namespace simco::middlebox {

namespace asio = boost::asio;
using boost::system::error_code;

Server::Server(asio::io_context& io, const ServerOptions& options, backend::Backend& backend,
               Metrics* metrics, store::Store* store)
    : io_(io),
      options_(options),
      backend_(backend),
      directory_(std::make_unique<policy::AgentDirectory>(options.directory)),
      metrics_(metrics),
      throttle_(options.authentication_pause),
      engine_(engine_options(options, backend, store != nullptr)),
      store_(store),
      store_thread_(store == nullptr ? std::nullopt
                                     : std::optional<StoreThread>(std::in_place, io, *store)),
      journal_(store == nullptr
                   ? std::nullopt
                   : std::optional<Journal>(std::in_place, *store_thread_, clock_,
                                            static_cast<Journal::Monitor&>(*this), metrics)),
      pipeline_(engine_, journal_ ? &*journal_ : nullptr, backend, *this, metrics),
      audit_(options.audit_rate, [](const std::string& line) { spdlog::info(line); }),
      peer_log_(kPeerLinesPerSecond, [](const std::string& line) { spdlog::warn(line); }),
      read_buffer_(std::make_unique<net::ReadBuffer>()),
      guests_(options.guests_max),
      association_guests_(options.association_guests_max),
      timer_(io),
      age_timer_(io),
      stop_timer_(io) {
  engine_.apply(*directory_);
  session_options_.message_timeout = options.message_timeout;
  listen(options_.listen, options_.require);
  for (const auto& [listen_options, require] : options_.further_listeners) {
    listen(listen_options, require);
  }
}

Server::~Server() {
  if (journal_) journal_->finish();
}

policy::PolicyEngine::Options Server::engine_options(const ServerOptions& options,
                                                     const backend::Backend& backend,
                                                     bool durable) {
  policy::PolicyEngine::Options result;
  result.backend = backend.capabilities();
  result.backend.persistent = durable;
  result.backend.lifetime_max_s = options.lifetime_max_s;
  result.nat = options.nat;
  result.rules_max = options.rules_max;
  result.elements_max = options.elements_max;
  return result;
}

void Server::start() {
  if (store_ != nullptr) {
    const auto contents = store_->open();
    journal_->resume_ids({contents.counters.next_pid, contents.counters.next_gid});
    const auto recovery = recover(contents, store_->place(), engine_, backend_, clock_, metrics_);
    journal_->forget(recovery.forgotten);
    spdlog::info("restored {} rules from the store; {} had expired, {} could not be restored",
                 recovery.live, recovery.expired, recovery.lost);
    arm_timer();
  } else {
    backend_.begin({});
  }
  for (const auto& listener : listeners_) {
    for (const auto& endpoint : listener->endpoints()) {
      spdlog::info("listening on {} {}", net::to_string(listener->transport()), endpoint);
    }
  }
  check_session_ages();
}

// --- Connections -------------------------------------------------------------------------------

void Server::listen(net::ListenOptions options, Require require) {
  options.on_refused = [this](const std::string& peer, const error_code& why) {
    // Who leaves without having said anything only wanted to know whether the port is open.
    if (why.category() == net::tls_category() || why == net::NetError::kCrowdedOut) {
      warn_about(peer, why.message());
      now_.reset();
    } else {
      spdlog::debug("{}: {}", peer, why.message());
    }
  };
  auto listening = net::listen(
      io_.get_executor(), options, *read_buffer_,
      [this, require](std::shared_ptr<net::MessageChannel> channel) {
        accept(std::move(channel), require);
      },
      [](const error_code& why) { spdlog::error("cannot accept connections: {}", why.message()); });
  for (const auto& note : listening.notes) spdlog::info(note);
  for (const auto& warning : listening.warnings) spdlog::warn(warning);
  std::ranges::move(listening.listeners, std::back_inserter(listeners_));
}

void Server::set_tls(const std::shared_ptr<const net::TlsContext>& tls) {
  for (const auto& listener : listeners_) listener->set_tls(tls);
}

std::vector<std::uint16_t> Server::ports() const {
  std::vector<std::uint16_t> result;
  for (const auto& listener : listeners_) result.push_back(listener->port());
  return result;
}

void Server::accept(std::shared_ptr<net::MessageChannel> channel, Require require) {
  if (connections_.size() >= kConnectionsMax) {
    spdlog::debug("connection refused: {} are open", connections_.size());
    return;  // closes it
  }
  session_options_.outbound_streams = channel->outbound_streams();
  Connection::Owner& owner = *this;
  auto connection =
      std::make_unique<Connection>(owner, std::move(channel), io_.get_executor(), session_options_);
  Connection& started = *connection;
  started.require = require;
  spdlog::debug("{}: connected", started.peer());
  connections_.emplace(&started, std::move(connection));
  started.start();
  const auto last = guests_like(started).enter(started.address(), &started);
  if (last) make_room(**last);
  end_turn();
}

void Server::make_room(Connection& guest) {
  guest.hurry();
  if (guest.session_agent()) return;
  warn_about(guest.peer(), "closed, without a session, to make room for others");
  guest.cut();
}

Capabilities Server::session_opened(Connection& connection) {
  connection.opened_at = engine_.id_position();
  const auto& name = connection.authenticated_name;
  const auto agent =
      engine_.acquire(name.empty() ? policy::anonymous_name(connection.peer()) : name);
  connection.set_agent(agent);
  guests_like(connection).leave(&connection);
  ++session_count_;
  if (metrics_ != nullptr) metrics_->session_opened();
  sessions_[agent].push_back(&connection);
  spdlog::debug("{}: session open for {}", connection.peer(), engine_.name(agent));
  return engine_.capabilities(agent);
}

void Server::session_refused(NegativeReplyCode code) {
  if (metrics_ != nullptr) metrics_->session_refused(code);
}

void Server::connection_over(Connection& connection) {
  guests_like(connection).leave(&connection);
  if (const auto agent = connection.session_agent()) {
    --session_count_;
    const auto peers = sessions_.find(*agent);
    std::erase(peers->second, &connection);
    if (peers->second.empty()) sessions_.erase(peers);
  }
  spdlog::debug("{}: connection over", connection.peer());
  over_.push_back(&connection);
  schedule_reap();
}

void Server::schedule_reap() {
  if (reap_scheduled_ || over_.empty()) return;
  reap_scheduled_ = true;
  asio::post(io_, [this] {
    reap_scheduled_ = false;
    end_turn();
    reap();
  });
}

void Server::reap() {
  std::erase_if(over_, [this](Connection* connection) {
    if (!connection->idle()) return false;
    bury(*connection);
    return true;
  });
  if (connections_.empty() && stopped_) finish_stop();
}

void Server::bury(Connection& connection) {
  const auto agent = connection.session_agent();
  connections_.erase(&connection);
  if (agent) engine_.release(*agent);
}

void Server::check_session_ages() {
  for (const auto& [connection, owned] : connections_) {
    if (connection->state() == SessionState::kOpen &&
        !engine_.session_young_enough(connection->opened_at)) {
      connection->terminate();
    }
  }
  peer_log_.flush();
  age_timer_.expires_after(kSessionAgeCheck);
  age_timer_.async_wait([this](const error_code& error) {
    if (error) return;
    check_session_ages();
    end_turn();
  });
}

// --- A turn of the loop ------------------------------------------------------------------------

Instant Server::now() const {
  if (!now_) now_ = std::chrono::steady_clock::now();
  return *now_;
}

void Server::continue_soon() {
  if (std::exchange(continuing_, true)) return;
  asio::post(io_, [this] {
    continuing_ = false;
    end_turn();
  });
}

void Server::submit(Connection& connection, TransactionId tid, const Body& request) {
  pipeline_.submit(connection, tid, request, now());
}

void Server::mark_dirty(Connection& connection) {
  if (std::exchange(connection.dirty, true)) return;
  dirty_.push_back(&connection);
}

void Server::end_turn() {
  if (ending_turn_) return;
  ending_turn_ = true;
  if (pipeline_.advance(now())) continue_soon();
  flush_dirty();
  if (metrics_ != nullptr) update_metrics();
  arm_timer();
  now_.reset();
  ending_turn_ = false;
}

void Server::flush_dirty() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    dirty_[i]->dirty = false;
    dirty_[i]->flush();
  }
  dirty_.clear();
}

void Server::update_metrics() {
  metrics_->flushed();
  metrics_->set({connections_.size(), session_count_, engine_.group_count(), engine_.nat_usage()});
}

void Server::on_stage_done() {
  end_turn();
  schedule_reap();
}

void Server::on_decided(const rule::Decision& decision) { audit_.record(decision, now()); }

void Server::on_rule_event(const policy::RuleEvent& event, const Requester* cause) {
  notify_sessions(event.owner, event, cause);
  for (const auto watcher : engine_.watchers()) {
    if (watcher != event.owner && engine_.may_see(watcher, event.owner)) {
      notify_sessions(watcher, event, cause);
    }
  }
}

void Server::notify_sessions(policy::AgentId agent, const policy::RuleEvent& event,
                             const Requester* cause) {
  const auto peers = sessions_.find(agent);
  if (peers == sessions_.end()) return;
  // notify() only queues: it never changes the list.
  for (Connection* connection : peers->second) {
    if (static_cast<const Requester*>(connection) != cause) connection->notify(event);
  }
}

// --- Expiry ------------------------------------------------------------------------------------

void Server::arm_timer() {
  auto due = engine_.next_expiry();
  const auto retry = journal_ ? journal_->deadline() : std::nullopt;
  if (retry && (!due || *retry < *due)) due = retry;
  if (!due || (timer_at_ && *timer_at_ <= *due)) return;
  timer_at_ = due;
  timer_.expires_at(*due);
  timer_.async_wait([this](const error_code& error) {
    if (error) return;
    timer_at_.reset();
    pipeline_.expire(now());
    if (journal_) journal_->on_deadline(now());
    end_turn();
  });
}

void Server::on_store_failing(const std::string& why) {
  spdlog::error("the store fails, new rules are refused until it works again: {}", why);
}

void Server::on_store_working() { spdlog::info("{}: the store works again", store_->place()); }

void Server::on_store_taken() {
  // From the loop: it stops the server, which is waiting for the batch that could not be kept.
  asio::post(io_, [this] {
    if (taken_) taken_();
  });
}

void Server::on_expiry_failed(PolicyRuleId pid) {
  spdlog::error("rule {} is over and could not be removed; trying again", pid.value);
}

// --- The end -----------------------------------------------------------------------------------

void Server::stop(std::function<void()> stopped) {
  stopped_ = std::move(stopped);
  for (const auto& listener : listeners_) listener->stop();
  for (const auto& [connection, owned] : connections_) connection->terminate();
  end_turn();
  stop_timer_.expires_after(kStopTimeout);
  stop_timer_.async_wait([this](const error_code& error) {
    if (!error) finish_stop();
  });
  if (connections_.empty()) asio::post(io_, [this] { finish_stop(); });
}

void Server::finish_stop() {
  if (!stopped_) return;
  audit_.flush();
  peer_log_.flush();
  stop_timer_.cancel();
  age_timer_.cancel();
  timer_.cancel();
  std::exchange(stopped_, nullptr)();
}

}  // namespace simco::middlebox
