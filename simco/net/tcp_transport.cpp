#include "simco/net/tcp_transport.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "simco/net/limits.hpp"
#include "simco/net/tcp_channel.hpp"
#include "simco/net/tcp_listener.hpp"
#include "simco/net/tls_handshake.hpp"

namespace simco::net {
namespace {

using boost::system::error_code;

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

const char* tcp_stack(const TransportOptions&) { return "kernel"; }

std::span<const TransportOption> tcp_options() { return {}; }

std::optional<std::string> fault_in_tcp(const TransportSettings&) { return std::nullopt; }

}  // namespace simco::net
