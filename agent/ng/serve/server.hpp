// simco-ng around a CallController: the sockets of proxies and media proxy, the middlebox and its
// counters, the store, and the timer.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/ng/call/controller.hpp"
#include "agent/ng/protocol/reply_cache.hpp"
#include "agent/ng/serve/counter_client.hpp"
#include "agent/ng/serve/media_proxy.hpp"
#include "agent/ng/serve/metrics.hpp"
#include "agent/ng/serve/middlebox.hpp"
#include "agent/ng/serve/options.hpp"
#include "agent/ng/serve/request_port.hpp"
#include "agent/ng/serve/state_store.hpp"

namespace simco::ng {

enum class Form : std::uint8_t;

/// Lives on one loop. Must be destroyed after the loop has stopped.
class Server final : private CallHost, private Middlebox::User {
 public:
  /// Binds the socket, and reads the calls of `--state`. Throws sqlite::Error or
  /// boost::system::system_error on failure.
  Server(boost::asio::io_context& io, const Settings& settings, Metrics& metrics);

  /// Connects, and connects again whenever the session is lost; and serves requests.
  void start();
  /// Applies the options that a reload may change.
  void apply(const Settings& settings);
  /// Ends the session; rules stay until their lifetimes end. Calls `done` after that.
  void stop(std::function<void()> done);

  /// ADDRESS:PORT of the socket.
  std::string endpoint() const { return port_.endpoint(); }
  std::size_t call_count() const { return controller_.call_count(); }
  std::size_t rule_count() const { return controller_.rule_count(); }

 private:
  /// A request that has no reply yet.
  struct Unreplied {
    net::Path from;
    std::string source;
    std::string cookie;
    Form form{};
    std::optional<Command> command;
    Instant since;
  };

  // CallHost
  void send(std::uint64_t transaction, const Body& request,
            std::optional<PolicyRuleId> rule) override;
  void reply(std::uint64_t request, const nlohmann::json& reply) override;
  void log(LogLevel level, const std::string& line) override;
  void pass_on(std::uint64_t request, const std::string& dictionary) override;
  void ask_counters(std::uint64_t question, const std::vector<PolicyRuleId>& pids) override;
  void on_media_timeout() override { ++metrics_.media_timeouts; }
  void on_changed(const Call& call) override;
  void on_ended(const std::string& call_id) override;
  void on_unended(const KeptRule& rule) override;
  void on_rule_gone(PolicyRuleId pid) override;

  // Middlebox::User
  void on_session(const Capabilities& capabilities) override;
  void on_session_lost() override;
  void on_result(std::uint64_t transaction, const SimcoResult& result) override;
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override;

  void restore();
  /// Writes to the store, if there is one. Its failures are logged once.
  template <class Write>
  void store(Write write);
  void on_datagram(const net::Path& from, std::string_view octets);
  /// After each event: deadlines and gauges.
  void settle();

  Metrics& metrics_;
  RequestPort port_;
  boost::asio::steady_timer timer_;
  Middlebox middlebox_;
  CallController controller_;
  ReplyCache replies_;
  std::optional<StateStore> state_;
  bool state_fails_ = false;
  std::optional<CounterClient> counters_;
  std::optional<MediaProxy> upstream_;
  std::unordered_map<std::uint64_t, Unreplied> unreplied_;
  std::uint64_t last_request_ = 0;
  std::optional<Instant> armed_for_;
  bool stopping_ = false;
};

}  // namespace simco::ng
