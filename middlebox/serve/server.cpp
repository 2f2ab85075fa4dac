// Connects the core to the world: listeners create channels for it, one timer wakes it, the log
// gets its log lines, and the store's thread writes its journal.
#include "middlebox/serve/server.hpp"

#include <boost/asio/post.hpp>
#include <random>
#include <stdexcept>
#include <utility>

#include "simco/log/log.hpp"
#include "simco/net/error.hpp"

namespace simco::middlebox {

namespace asio = boost::asio;
using boost::system::error_code;

Server::Server(asio::io_context& io, const ServerOptions& options, backend::Backend& backend,
               Metrics* metrics, store::Store* store)
    : io_(io),
      backend_(backend),
      store_(store),
      core_(options, clock_, backend, open_journal(metrics), metrics, *this),
      listeners_(io, options, *this),
      timer_(io),
      run_(std::random_device{}()) {
  if (store == nullptr || !store->is_copy()) listeners_.listen();
}

CountedRules Server::count(std::span<const PolicyRuleId> pids) {
  auto rules = core_.traffic(pids);
  return {backend_.counts(), run_, clock_.now(), std::move(rules)};
}

Server::~Server() {
  if (journal_ && journal_->finish() && !lost_place_) store_thread_->leave();
}

Journal* Server::open_journal(Metrics* metrics) {
  if (store_ == nullptr) return nullptr;
  store_thread_.emplace(io_, *store_);
  Journal::Monitor& monitor = *this;
  return &journal_.emplace(*store_thread_, clock_, monitor, metrics);
}

void Server::start() {
  if (store_ == nullptr) {
    core_.start();
    return listeners_.log_addresses();
  }
  const auto contents = store_->open();
  if (!contents.owned && !listeners_.empty()) {
    throw std::runtime_error(store_->place() + ": became a replica meanwhile; start again");
  }
  core_.start(contents, store_->place());
  // Later, because the thread must not have more rights than the loop.
  asio::post(io_, [this, follow = !contents.owned] { store_thread_->watch(*this, follow); });
  if (!contents.owned) {
    return log::info("standing by: {} is a replica; following its rules", store_->place());
  }
  if (listeners_.empty()) listeners_.listen();
  listeners_.log_addresses();
}

void Server::on_following(const std::optional<std::string>& failure) {
  if (failure) {
    return log::warn("no packet passes here by rules of the other box; trying again: {}", *failure);
  }
  log::info("following {}: packets pass here by its rules", store_->place());
}

void Server::on_warning(const std::string& what) { log::warn("{}", what); }

void Server::on_seen_taken(const std::string& why) {
  if (lost_place_) return;
  log::error("{}", why);
  on_store_taken();
}

void Server::on_became_owner() {
  log::info("{} is ours now: {} rules", store_->place(), core_.rule_count());
  asio::post(io_, [this] {
    listeners_.listen_when_possible([this] {
      if (serving_) serving_();
    });
  });
}

void Server::apply(policy::AgentDirectory directory, const std::string& secret) {
  core_.apply(std::move(directory), secret);
}

void Server::lose_place() {
  lost_place_ = true;
  backend_.lease({});
}

void Server::stop(std::function<void()> stopped) {
  listeners_.stop();
  core_.stop(std::move(stopped));
}

// Peers that leave without having said anything have only looked whether the port is open.
void Server::on_refused(const std::string& peer, const error_code& why) {
  if (why.category() == net::tls_category() || why == net::NetError::kCrowdedOut) {
    return core_.warn_about(peer, why.message());
  }
  log::debug("{}: {}", peer, why.message());
}

// --- The core's owner --------------------------------------------------------------------------

void Server::wake_at(Instant at) {
  timer_.expires_at(std::chrono::time_point_cast<asio::steady_timer::duration>(at));
  timer_.async_wait([this](const error_code& error) {
    if (!error) core_.on_deadline();
  });
}

void Server::log(Core::LogLevel level, const std::string& line) {
  switch (level) {
    case Core::LogLevel::kDebug: return log::debug(line);
    case Core::LogLevel::kInfo: return log::info(line);
    case Core::LogLevel::kWarning: return log::warn(line);
    case Core::LogLevel::kError: return log::error(line);
  }
}

void Server::on_store_failing(const std::string& why) {
  log::error("cannot write to the store; refusing new rules until it recovers: {}", why);
}

void Server::on_store_working() { log::info("{}: the store works again", store_->place()); }

void Server::on_store_taken() {
  // From the loop: it stops the core, which is in the middle of a batch.
  asio::post(io_, [this] {
    lose_place();
    if (taken_) std::exchange(taken_, nullptr)();
  });
}

}  // namespace simco::middlebox
