// The socket of the ng protocol and the session with the middlebox, around a CallController.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/agent.hpp"
#include "agent/ng/codec.hpp"
#include "agent/ng/controller.hpp"
#include "agent/ng/counter_client.hpp"
#include "agent/ng/metrics.hpp"
#include "agent/ng/options.hpp"
#include "agent/ng/reply_cache.hpp"
#include "agent/ng/state_store.hpp"

namespace simco::ng {

/// Lives on one loop. Must be destroyed after the loop has stopped.
class Server final : private CallController::Host {
 public:
  /// Binds the socket, and reads the calls of `--state`. `metrics` may be null. Throws
  /// sqlite::Error or boost::system::system_error on failure.
  Server(boost::asio::io_context& io, const Settings& settings, Metrics* metrics);

  /// Connects, and connects again whenever the session is lost; and serves requests.
  void start();
  /// Applies what a reload may change.
  void apply(const Settings& settings);
  /// Ends the session; rules stay until their lifetimes end. Calls `done` after that.
  void stop(std::function<void()> done);

  /// ADDRESS:PORT of the socket.
  std::string endpoint() const;
  std::size_t call_count() const { return controller_.call_count(); }
  std::size_t rule_count() const { return controller_.rule_count(); }

 private:
  using Udp = boost::asio::ip::udp;
  /// A request that has no reply yet.
  struct Pending {
    Udp::endpoint from;
    std::string source;
    std::string cookie;
    Form form = Form::kBencode;
    std::optional<Command> command;
    Instant since;
  };

  // CallController::Host
  void send(std::uint64_t transaction, const SimcoRequest& request) override;
  void reply(std::uint64_t request, const nlohmann::json& reply) override;
  void log(LogLevel level, const std::string& line) override;
  void pass_on(std::uint64_t request, const std::string& dictionary) override;
  void ask_counters(std::uint64_t question, const std::vector<PolicyRuleId>& pids) override;
  void on_media_timeout() override;
  void on_changed(const Call& call) override;
  void on_ended(const std::string& call_id) override;

  void restore();
  /// Writes to the store, if there is one. Its failures are logged once.
  template <class Write>
  void store(Write write);
  void receive();
  void receive_upstream();
  void on_upstream(std::string_view octets);
  void on_datagram(std::string_view octets);
  bool is_allowed(const boost::asio::ip::address& address) const;
  void send_to(const Udp::endpoint& to, std::string_view octets);
  boost::asio::awaitable<void> keep_session();
  boost::asio::awaitable<boost::system::error_code> begin_session();
  boost::asio::awaitable<void> run_session();
  template <class Result>
  auto deliver(std::uint64_t transaction);
  /// After each event: deadlines and gauges.
  void settle();

  boost::asio::io_context& io_;
  net::HostPort middlebox_;
  std::vector<IpPrefix> allowed_;
  Metrics* metrics_;
  Udp::socket socket_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer pause_;
  agent::Agent agent_;
  CallController controller_;
  ReplyCache replies_;
  std::optional<StateStore> state_;
  bool state_fails_ = false;
  std::vector<char> buffer_;
  Udp::endpoint sender_;
  std::optional<CounterClient> counters_;
  std::optional<Udp::socket> upstream_;  ///< connected to the media proxy
  std::string cookies_;                  ///< what ours begin with
  std::vector<char> upstream_buffer_;
  std::unordered_map<std::uint64_t, Pending> pending_;
  std::uint64_t last_request_ = 0;
  std::optional<Instant> armed_for_;
  bool session_ = false;
  bool stopping_ = false;
};

}  // namespace simco::ng
