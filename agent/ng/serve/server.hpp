// The socket of the ng protocol and the session with the middlebox, around a CallController.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/driver.hpp"
#include "agent/ng/call/controller.hpp"
#include "agent/ng/protocol/codec.hpp"
#include "agent/ng/protocol/reply_cache.hpp"
#include "agent/ng/serve/counter_client.hpp"
#include "agent/ng/serve/limits.hpp"
#include "agent/ng/serve/metrics.hpp"
#include "agent/ng/serve/options.hpp"
#include "agent/ng/serve/state_store.hpp"
#include "simco/net/datagram_port.hpp"
#include "simco/session/backoff.hpp"
#include "simco/session/limits.hpp"

namespace simco::ng {

/// Lives on one loop. Must be destroyed after the loop has stopped.
class Server final : private CallController::Host, private net::DatagramPort::User {
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
    net::Path from;
    std::string source;
    std::string cookie;
    Form form = Form::kBencode;
    std::optional<Command> command;
    Instant since;
  };

  // CallController::Host
  void send(std::uint64_t transaction, const Body& request,
            std::optional<PolicyRuleId> rule) override;
  void reply(std::uint64_t request, const nlohmann::json& reply) override;
  void log(LogLevel level, const std::string& line) override;
  void pass_on(std::uint64_t request, const std::string& dictionary) override;
  void ask_counters(std::uint64_t question, const std::vector<PolicyRuleId>& pids) override;
  void on_media_timeout() override;
  void on_changed(const Call& call) override;
  void on_ended(const std::string& call_id) override;
  void on_unended(const KeptRule& rule) override;
  void on_rule_gone(PolicyRuleId pid) override;

  // net::DatagramPort::User
  void on_packet(net::DatagramPort& port, const net::Path& path,
                 std::span<const std::byte> packet) override;
  void on_unreachable(net::DatagramPort&, const net::Path&) override {}
  void on_batch_done() override { take_soon(); }

  void restore();
  /// Writes to the store, if there is one. Its failures are logged once.
  template <class Write>
  void store(Write write);
  void receive_upstream();
  void on_upstream(std::string_view octets);
  /// Takes some of the datagrams that have been read, then lets more be read: a burst waits here,
  /// and not in the socket, whose buffer the kernel limits.
  void take_soon();
  void take_some();
  void on_datagram(const net::Path& from, std::string_view octets);
  bool is_allowed(const boost::asio::ip::address& address) const;
  void send_to(const net::Path& to, std::string_view octets);
  void open_session();
  void on_session_change(const boost::system::error_code& reason);
  void on_session(const Capabilities& capabilities);
  void next_event();
  void finish(std::uint64_t transaction, const SimcoResult& result);
  /// After each event: deadlines and gauges.
  void settle();

  boost::asio::io_context& io_;
  net::HostPort middlebox_;
  std::vector<IpPrefix> allowed_;
  Metrics* metrics_;
  net::DatagramBatch batch_;
  std::shared_ptr<net::DatagramPort> port_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer pause_;
  Backoff delay_{kReconnectDelayFirst, kReconnectPauseMax};
  std::minstd_rand random_{std::random_device{}()};
  std::shared_ptr<agent::Driver> driver_;
  CallController controller_;
  ReplyCache replies_;
  std::optional<StateStore> state_;
  bool state_fails_ = false;
  std::deque<std::pair<net::Path, std::string>> backlog_;  ///< datagrams that have been read
  std::size_t backlog_octets_ = 0;
  bool taking_ = false;
  std::optional<CounterClient> counters_;
  std::optional<Udp::socket> upstream_;  ///< connected to the media proxy
  std::string cookies_;                  ///< what ours begin with
  std::vector<char> upstream_buffer_;
  std::unordered_map<std::uint64_t, Pending> pending_;
  std::uint64_t last_request_ = 0;
  std::optional<Instant> armed_for_;
  bool session_ = false;
  bool failing_ = false;  ///< the first session cannot be opened, which has been said
  bool stopping_ = false;
};

}  // namespace simco::ng
