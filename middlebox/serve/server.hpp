// The middlebox as a program: listeners, channels, a timer and the store's thread around the core,
// on one event loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "middlebox/clock.hpp"
#include "middlebox/commit/store_thread.hpp"
#include "middlebox/core/core.hpp"
#include "middlebox/serve/inspector.hpp"
#include "middlebox/serve/listeners.hpp"
#include "middlebox/serve/options.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::middlebox {

/// Belongs to one io_context with one thread.
class Server final : private Listeners::Host,
                     private Core::Host,
                     private Journal::Monitor,
                     private StoreThread::Observer {
 public:
  /// Binds and listens, unless `store` is a copy of another middlebox's; no connection is accepted
  /// before start(). Throws std::runtime_error with a sentence if it cannot. `backend`, and
  /// `metrics` and `store` if there are any, must outlive it.
  Server(boost::asio::io_context& io, const ServerOptions& options, backend::Backend& backend,
         Metrics* metrics = nullptr, store::Store* store = nullptr);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Begins to enforce rules, beginning with those in the `store` if there is one, and to accept
  /// connections: from then on, or once the store is ours. Must be called once, before the loop
  /// runs and after everything else that can fail, because a start that fails must leave the kernel
  /// as it was. Throws std::runtime_error with a sentence.
  void start();

  /// Returns the port of each listener: one for each TCP address and one for each SCTP endpoint, in
  /// the order of the transports, followed by the further listeners.
  std::vector<std::uint16_t> ports() const { return listeners_.ports(); }

  /// Applies a new configuration of agents, and the middlebox's own secret. Rules stay; sessions of
  /// agents that are no longer allowed get AST.
  void apply(policy::AgentDirectory directory, const std::string& secret);

  /// Replaces the TLS context of new connections; existing sessions continue.
  void set_tls(const std::shared_ptr<const net::TlsContext>& tls) { listeners_.set_tls(tls); }

  /// Calls `taken` when another middlebox has taken over the rules: this process must stop.
  void on_taken(std::function<void()> taken) { taken_ = std::move(taken); }

  /// True while the store is another middlebox's: its rules are enforced, and agents are not
  /// served.
  bool stands_by() const { return core_.following(); }
  /// Calls `serving` when this is over.
  void on_serving(std::function<void()> serving) { serving_ = std::move(serving); }

  /// Another box has this one's place, or will: no packet passes any more. stop() must follow.
  void lose_place();
  /// Orderly stop: no new connections, AST to every session after its replies. `stopped` is called
  /// when all are gone, after kStopTimeout at the latest.
  void stop(std::function<void()> stopped);

  /// Returns the counts of the rules of `pids`, for inspector().
  CountedRules count(std::span<const PolicyRuleId> pids);

  std::size_t connection_count() const { return core_.connection_count(); }
  std::size_t session_count() const { return core_.session_count(); }
  std::size_t rule_count() const { return core_.rule_count(); }

 private:
  // Listeners::Host
  void on_connection(std::shared_ptr<net::MessageChannel> channel, Require require) override {
    core_.accept(std::move(channel), require);
  }
  void on_refused(const std::string& peer, const boost::system::error_code& why) override;

  // Core::Host
  void wake_at(Instant at) override;
  ChallengeOctets make_challenge() override { return random_challenge(); }
  void log(Core::LogLevel level, const std::string& line) override;

  void on_became_owner() override;

  // StoreThread::Observer
  void on_changed(store::Changes changes, Following::Done done) override {
    core_.follow(std::move(changes), std::move(done));
  }
  void on_lease(Instant until) override { core_.lease(until); }
  void on_seen_lost() override { journal_->write_soon(); }
  void on_warning(const std::string& what) override;
  void on_following(const std::optional<std::string>& failure) override;
  void on_seen_taken(const std::string& why) override;

  // Journal::Monitor
  void on_store_failing(const std::string& why) override;
  void on_store_working() override;
  void on_store_taken() override;
  void on_store_lost() override { core_.restore_store(); }

  /// Creates the journal, if there is a store.
  Journal* open_journal(Metrics* metrics);

  boost::asio::io_context& io_;
  backend::Backend& backend_;
  store::Store* store_;
  SystemClock clock_;
  std::optional<StoreThread> store_thread_;
  bool lost_place_ = false;
  std::optional<Journal> journal_;
  Core core_;
  Listeners listeners_;
  boost::asio::steady_timer timer_;
  std::function<void()> taken_;
  std::function<void()> serving_;
  std::uint32_t run_;  ///< as CountedRules::run
};

}  // namespace simco::middlebox
