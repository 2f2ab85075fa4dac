// Accepts TCP connections on one address.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

namespace simco::net {

class TcpListener {
 public:
  using OnAccept = std::function<void(boost::asio::ip::tcp::socket)>;
  using OnError = std::function<void(const boost::system::error_code&)>;

  /// Binds and listens; throws boost::system::system_error where that fails. on_error gets the
  /// failures of accept(), after which there is a pause of kAcceptPause; connections then wait in
  /// the kernel. To be destroyed only when the loop of `executor` does not run any more.
  TcpListener(const boost::asio::any_io_executor& executor,
              const boost::asio::ip::tcp::endpoint& endpoint, OnAccept on_accept, OnError on_error);

  /// Stops to listen; no further callback.
  void stop();

  boost::asio::ip::tcp::endpoint local_endpoint() const { return acceptor_.local_endpoint(); }

 private:
  void accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  OnAccept on_accept_;
  OnError on_error_;
  bool stopped_ = false;
};

}  // namespace simco::net
