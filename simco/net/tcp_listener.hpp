// Accepts TCP connections on an address.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "simco/net/crowd.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/tls_handshake.hpp"

namespace simco::net {

class TcpListener final : public Listener {
 public:
  /// Binds and listens; throws boost::system::system_error where that fails. Uses the TLS part of
  /// `options`.
  TcpListener(const boost::asio::any_io_executor& executor,
              const boost::asio::ip::tcp::endpoint& endpoint, ReadBuffer& read_buffer,
              OnAccept on_accept, OnError on_error, const ListenOptions& options);

  void stop() override;
  void set_tls(std::shared_ptr<const TlsContext> tls) override { tls_ = std::move(tls); }
  Transport transport() const override { return Transport::kTcp; }
  std::uint16_t port() const override { return endpoint_.port(); }
  std::vector<std::string> endpoints() const override {
    return {endpoint_text(endpoint_.address().to_string(), endpoint_.port())};
  }

 private:
  void accept();
  void take(boost::asio::ip::tcp::socket socket);
  void shake_hands(boost::asio::ip::tcp::socket socket);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint endpoint_;
  boost::asio::steady_timer pause_;
  ReadBuffer& read_buffer_;
  OnAccept on_accept_;
  OnError on_error_;
  std::shared_ptr<const TlsContext> tls_;
  OnRefused on_refused_;
  Crowd<TlsHandshake*> shaking_hands_;
  bool stopped_ = false;
};

}  // namespace simco::net
