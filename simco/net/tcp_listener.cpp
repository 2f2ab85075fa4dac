#include "simco/net/tcp_listener.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include "simco/net/error.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/tcp_channel.hpp"

namespace simco::net {

TcpListener::TcpListener(const boost::asio::any_io_executor& executor,
                         const boost::asio::ip::tcp::endpoint& endpoint, ReadBuffer& read_buffer,
                         OnAccept on_accept, OnError on_error, const ListenOptions& options)
    : acceptor_(executor),
      pause_(executor),
      read_buffer_(read_buffer),
      on_accept_(std::move(on_accept)),
      on_error_(std::move(on_error)),
      tls_(options.tls),
      on_refused_(options.on_refused),
      shaking_hands_(options.handshakes_max) {
  acceptor_.open(endpoint.protocol());
  acceptor_.set_option(boost::asio::ip::tcp::acceptor::reuse_address(true));
  if (endpoint.protocol() == boost::asio::ip::tcp::v6()) {
    // So that 0.0.0.0 and :: can both be listened on, each for its IP version.
    acceptor_.set_option(boost::asio::ip::v6_only(true));
  }
  acceptor_.bind(endpoint);
  acceptor_.listen(kListenBacklog);
  endpoint_ = acceptor_.local_endpoint();
  accept();
}

void TcpListener::stop() {
  stopped_ = true;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
}

void TcpListener::accept() {
  acceptor_.async_accept(
      [this](const boost::system::error_code& error, boost::asio::ip::tcp::socket socket) {
        if (stopped_ || error == boost::asio::error::operation_aborted) return;
        if (!error) {
          take(std::move(socket));
          return accept();
        }
        on_error_(error);
        pause_.expires_after(kAcceptPause);
        pause_.async_wait([this](const boost::system::error_code& aborted) {
          if (!aborted && !stopped_) accept();
        });
      });
}

void TcpListener::take(boost::asio::ip::tcp::socket socket) {
  if (tls_) return shake_hands(std::move(socket));
  on_accept_(std::make_shared<TcpChannel>(std::move(socket), read_buffer_));
}

void TcpListener::shake_hands(boost::asio::ip::tcp::socket socket) {
  boost::system::error_code unknown;
  const auto peer = socket.remote_endpoint(unknown);
  const auto name = unknown ? std::string("unknown") : address_text(peer.address());
  const auto itself = std::make_shared<TlsHandshake*>(nullptr);
  // A listener ends after its loop: handlers under way are destroyed without a call.
  const auto handshake =
      std::make_shared<TlsHandshake>(std::move(socket), tls_, std::string(),
                                     [this, name, itself](const boost::system::error_code& error,
                                                          boost::asio::ip::tcp::socket connected,
                                                          std::unique_ptr<TlsStream> stream) {
                                       shaking_hands_.leave(*itself);
                                       if (stopped_) return;
                                       if (error) return on_refused_(name, error);
                                       on_accept_(std::make_shared<TcpChannel>(
                                           std::move(connected), read_buffer_, std::move(stream)));
                                     });
  *itself = handshake.get();
  handshake->start(kHandshakeTimeout);
  const auto address = parse_address(std::string_view(name).substr(0, name.find('%')));
  const auto last = shaking_hands_.enter(address.value_or(IpAddress{}), handshake.get());
  if (last) (*last)->give_up(NetError::kCrowdedOut);
}

}  // namespace simco::net
