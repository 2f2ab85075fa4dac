// Connects the core to the world: listeners create channels for it, one timer wakes it, the log
// gets its log lines, and the store's thread writes its journal.
#include "middlebox/serve/server.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <random>
#include <stdexcept>
#include <utility>

#include "middlebox/limits.hpp"
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
      wanted_(options.further_listeners),
      read_buffer_(std::make_unique<net::ReadBuffer>()),
      timer_(io),
      listen_timer_(io),
      run_(std::random_device{}()) {
  wanted_.insert(wanted_.begin(), {options.listen, options.require});
  if (store == nullptr || !store->is_copy()) listen();
}

CountedRules Server::count(std::span<const PolicyRuleId> pids) {
  auto rules = core_.traffic(pids);
  return {backend_.counts(), run_, clock_.now(), std::move(rules)};
}

Server::~Server() {
  if (journal_) journal_->finish();
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
    return say_where();
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
  if (listeners_.empty()) listen();
  say_where();
}

void Server::on_following(const std::optional<std::string>& failure) {
  core_.note_following(!failure);
  if (failure) return log::warn("standing by, but not following; trying again: {}", *failure);
  log::info("following {} again", store_->place());
}

void Server::on_lost(const store::StoreFailure& why) {
  log::error("{}", why.what);
  on_store_taken();
}

void Server::on_taken_over() {
  log::info("{} is ours now: {} rules", store_->place(), core_.rule_count());
  asio::post(io_, [this] { listen_when_possible(); });
}

void Server::listen_when_possible() {
  if (stopping_) return;
  try {
    listen();
  } catch (const std::runtime_error& failure) {
    // The address may come later than the store.
    if (!std::exchange(waits_for_address_, true)) {
      log::warn("cannot serve agents yet; trying again: {}", failure.what());
    }
    listeners_.clear();
    listen_timer_.expires_after(kListenRetry);
    return listen_timer_.async_wait([this](const error_code& error) {
      if (!error) listen_when_possible();
    });
  }
  say_where();
  if (serving_) serving_();
}

void Server::say_where() {
  for (const auto& listener : listeners_) {
    for (const auto& endpoint : listener->endpoints()) {
      log::info("listening on {} {}", net::to_string(listener->transport()), endpoint);
    }
  }
}

void Server::listen() {
  for (const auto& [options, require] : wanted_) listen(options, require);
}

void Server::listen(net::ListenOptions options, Require require) {
  options.on_refused = [this](const std::string& peer, const error_code& why) {
    // Peers that leave without having said anything have only looked whether the port is open.
    if (why.category() == net::tls_category() || why == net::NetError::kCrowdedOut) {
      core_.warn_about(peer, why.message());
    } else {
      log::debug("{}: {}", peer, why.message());
    }
  };
  auto listening = net::listen(
      io_.get_executor(), options, *read_buffer_,
      [this, require](std::shared_ptr<net::MessageChannel> channel) {
        core_.accept(std::move(channel), require);
      },
      [](const error_code& why) { log::error("cannot accept connections: {}", why.message()); });
  for (const auto& note : listening.notes) log::info(note);
  for (const auto& warning : listening.warnings) log::warn(warning);
  std::ranges::move(listening.listeners, std::back_inserter(listeners_));
}

void Server::set_tls(const std::shared_ptr<const net::TlsContext>& tls) {
  for (auto& wanted : wanted_) wanted.listen.tls = tls;
  for (const auto& listener : listeners_) listener->set_tls(tls);
}

std::vector<std::uint16_t> Server::ports() const {
  std::vector<std::uint16_t> result;
  for (const auto& listener : listeners_) result.push_back(listener->port());
  return result;
}

void Server::apply(policy::AgentDirectory directory, const std::string& secret) {
  core_.apply(std::move(directory), secret);
}

void Server::stop(std::function<void()> stopped) {
  stopping_ = true;
  listen_timer_.cancel();
  for (const auto& listener : listeners_) listener->stop();
  core_.stop(std::move(stopped));
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
    if (taken_) std::exchange(taken_, nullptr)();
  });
}

}  // namespace simco::middlebox
