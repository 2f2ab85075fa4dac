#include "simco/net/tcp_listener.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include "simco/net/limits.hpp"
#include "simco/net/tcp_channel.hpp"

namespace simco::net {

TcpListener::TcpListener(const boost::asio::any_io_executor& executor,
                         const boost::asio::ip::tcp::endpoint& endpoint, ReadBuffer& read_buffer,
                         OnAccept on_accept, OnError on_error)
    : acceptor_(executor),
      pause_(executor),
      read_buffer_(read_buffer),
      on_accept_(std::move(on_accept)),
      on_error_(std::move(on_error)) {
  acceptor_.open(endpoint.protocol());
  acceptor_.set_option(boost::asio::ip::tcp::acceptor::reuse_address(true));
  if (endpoint.protocol() == boost::asio::ip::tcp::v6()) {
    // So that 0.0.0.0 and :: can both be listened on, and each says what it means.
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
          on_accept_(std::make_shared<TcpChannel>(std::move(socket), read_buffer_));
          return accept();
        }
        on_error_(error);
        pause_.expires_after(kAcceptPause);
        pause_.async_wait([this](const boost::system::error_code& aborted) {
          if (!aborted && !stopped_) accept();
        });
      });
}

}  // namespace simco::net
