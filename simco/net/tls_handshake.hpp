// The beginning of a TLS connection, until there is something to send messages through.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "simco/net/tls.hpp"

namespace simco::net {

/// Keeps itself alive until it has told how it ended. Belongs to the loop of the socket's executor.
class TlsHandshake : public std::enable_shared_from_this<TlsHandshake> {
 public:
  /// The socket, and the stream over it; without a stream if the peer (of a middlebox) does not use
  /// TLS. With an error, close the socket.
  using Done = std::function<void(const boost::system::error_code&, boost::asio::ip::tcp::socket,
                                  std::unique_ptr<TlsStream>)>;

  TlsHandshake(boost::asio::ip::tcp::socket socket, std::shared_ptr<const TlsContext> context,
               std::string name, Done done);

  /// A middlebox waits for the first octet, which tells TLS from SIMCO as it is; an agent begins.
  void start(std::chrono::milliseconds timeout);
  /// Ends it with `error`, unless it has ended.
  void give_up(const boost::system::error_code& error) { finish(error); }

 private:
  void wait(boost::asio::socket_base::wait_type what);
  /// Looks at the first octet; then the handshake begins, or there is none.
  void look();
  void go_on();
  void finish(const boost::system::error_code& error);
  /// Lets the peer get the alert with the reason: closing with unread input would reset the
  /// connection, and destroy the alert.
  void linger(const boost::system::error_code& error);
  void wait_for_end();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<const TlsContext> context_;
  std::string name_;
  Done done_;
  std::unique_ptr<TlsStream> stream_;
  boost::system::error_code failure_;  ///< lingering
};

}  // namespace simco::net
