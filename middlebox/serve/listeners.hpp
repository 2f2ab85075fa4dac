// Where the middlebox takes connections: its listeners, from when their addresses are here.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "middlebox/serve/options.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::middlebox {

/// Belongs to one io_context with one thread.
class Listeners {
 public:
  /// Learns of connections.
  class Host {
   public:
    virtual void on_connection(std::shared_ptr<net::MessageChannel> channel, Require require) = 0;
    /// A peer was turned away.
    virtual void on_refused(const std::string& peer, const boost::system::error_code& why) = 0;

   protected:
    ~Host() = default;
  };

  /// Nothing is bound before listen().
  Listeners(boost::asio::io_context& io, const ServerOptions& options, Host& host);

  /// Binds and listens. Throws std::runtime_error with a sentence if it cannot.
  void listen();
  /// Tries again while an address is not here yet, and calls `done` then.
  void listen_when_possible(std::function<void()> done);
  bool empty() const { return listeners_.empty(); }
  /// Logs where it listens.
  void log_addresses() const;
  /// As Server::ports().
  std::vector<std::uint16_t> ports() const;
  /// Replaces the TLS context of new connections.
  void set_tls(const std::shared_ptr<const net::TlsContext>& tls);
  /// Takes no new connections.
  void stop();

 private:
  void listen(net::ListenOptions options, Require require);

  boost::asio::io_context& io_;
  Host& host_;
  std::vector<ListenerSettings> wanted_;
  std::vector<std::unique_ptr<net::Listener>> listeners_;
  std::unique_ptr<net::ReadBuffer> read_buffer_;
  boost::asio::steady_timer retry_;
  bool warned_ = false;  ///< it is in the log that an address is missing
  bool stopped_ = false;
};

}  // namespace simco::middlebox
