// Accepts TCP connections and makes them, with their TLS handshakes.
#include "simco/net/transports.hpp"

#include <fcntl.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "simco/net/crowd.hpp"
#include "simco/net/error.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/tcp_channel.hpp"
#include "simco/net/tls_handshake.hpp"

namespace simco::net {
namespace {

using boost::system::error_code;

/// Accepts TCP connections on an address.
class TcpListener final : public Listener {
 public:
  /// Binds and listens; throws boost::system::system_error where that fails. Uses the TLS part of
  /// `options`.
  TcpListener(const boost::asio::any_io_executor& executor,
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

  void stop() override {
    stopped_ = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  }
  void set_tls(std::shared_ptr<const TlsContext> tls) override { tls_ = std::move(tls); }
  Transport transport() const override { return Transport::kTcp; }
  std::uint16_t port() const override { return endpoint_.port(); }
  std::vector<std::string> endpoints() const override {
    return {endpoint_text(endpoint_.address().to_string(), endpoint_.port())};
  }

 private:
  void accept() {
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
  void take(boost::asio::ip::tcp::socket socket) {
    if (tls_) return shake_hands(std::move(socket));
    on_accept_(std::make_shared<TcpChannel>(std::move(socket), read_buffer_));
  }
  void shake_hands(boost::asio::ip::tcp::socket socket) {
    boost::system::error_code unknown;
    const auto peer = socket.remote_endpoint(unknown);
    const auto name = unknown ? std::string("unknown") : address_text(peer.address());
    const auto itself = std::make_shared<TlsHandshake*>(nullptr);
    // A listener ends after its loop: handlers under way are destroyed without a call.
    const auto handshake = std::make_shared<TlsHandshake>(
        std::move(socket), tls_, std::string(),
        [this, name, itself](const boost::system::error_code& error,
                             boost::asio::ip::tcp::socket connected,
                             std::unique_ptr<TlsStream> stream) {
          shaking_hands_.leave(*itself);
          if (stopped_) return;
          if (error) return on_refused_(name, error);
          on_accept_(
              std::make_shared<TcpChannel>(std::move(connected), read_buffer_, std::move(stream)));
        });
    *itself = handshake.get();
    handshake->start(kHandshakeTimeout);
    const auto address = parse_address(std::string_view(name).substr(0, name.find('%')));
    const auto last = shaking_hands_.enter(address.value_or(IpAddress{}), handshake.get());
    if (last) (*last)->give_up(NetError::kCrowdedOut);
  }

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

class TcpDialer final : public Dialer {
 public:
  explicit TcpDialer(DialRequest request) : request_(std::move(request)) {}

 private:
  void start(const Addresses& candidate) override {
    socket_.emplace(request_.executor);
    error_code error;
    const boost::asio::ip::tcp::endpoint endpoint(candidate.front(), request_.port);
    socket_->open(endpoint.protocol(), error);
    if (!error && !request_.local.empty()) socket_->bind({request_.local.front(), 0}, error);
    if (error) return finish(Result::kFailed, error);
    // A program that the agent starts must neither hold the session open nor speak in it.
    ::fcntl(socket_->native_handle(), F_SETFD, FD_CLOEXEC);
    socket_->async_connect(endpoint, [this, self = shared_from_this()](const error_code& failure) {
      if (cancelled()) return;
      if (failure) return finish(Result::kFailed, failure);
      connected();
    });
  }
  void stop() override { socket_.reset(); }

  void connected() {
    if (!request_.options.tls) return finish(std::move(*socket_), nullptr);
    const auto& tls_name = request_.options.tls_name;
    std::make_shared<TlsHandshake>(std::move(*socket_), request_.options.tls,
                                   tls_name.empty() ? request_.host : tls_name,
                                   [this, self = shared_from_this()](
                                       const error_code& error, boost::asio::ip::tcp::socket socket,
                                       std::unique_ptr<TlsStream> stream) {
                                     if (error) return finish(Result::kRefused, error);
                                     finish(std::move(socket), std::move(stream));
                                   })
        ->start(kHandshakeTimeout);
  }

  using Dialer::finish;
  void finish(boost::asio::ip::tcp::socket socket, std::unique_ptr<TlsStream> tls) {
    auto channel =
        std::make_shared<TcpChannel>(std::move(socket), request_.read_buffer, std::move(tls));
    // A middlebox that dies says nothing. Its successor at the address resets the connection as
    // soon as a packet arrives.
    const auto silence_max = request_.options.silence_max;
    if (silence_max.count() != 0) channel->end_on_silence(silence_max);
    finish(Result::kConnected, {}, std::move(channel));
  }

  DialRequest request_;
  std::optional<boost::asio::ip::tcp::socket> socket_;
};

}  // namespace

void listen_tcp(const ListenRequest& request, Listening& result) {
  for (const auto& one : request.addresses) {
    result.listeners.push_back(request.open(Transport::kTcp, one, "", [&] {
      return std::make_unique<TcpListener>(
          request.executor, boost::asio::ip::tcp::endpoint(one, request.options.port),
          request.read_buffer, request.on_accept, request.on_error, request.options);
    }));
  }
}

std::shared_ptr<Dialer> make_tcp_dialer(DialRequest request) {
  return std::make_shared<TcpDialer>(std::move(request));
}

}  // namespace simco::net
