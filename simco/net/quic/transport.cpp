// Listens and connects over QUIC.
#include "simco/net/transports.hpp"

#include <boost/system/system_error.hpp>
#include <stdexcept>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/error.hpp"
#include "simco/net/quic/endpoint.hpp"

namespace simco::net::quic {
namespace {

using boost::asio::ip::address;
using boost::system::error_code;

class QuicListener final : public Listener {
 public:
  QuicListener(const ListenRequest& request, const address& where)
      : endpoint_(std::make_shared<Endpoint>(request.executor, where, request.options.port,
                                             request.options.settings.quic,
                                             *request.options.tls->quic(), true)) {
    endpoint_->listen(
        {request.on_accept, request.options.on_refused, request.options.handshakes_max});
  }
  ~QuicListener() override { endpoint_->stop_listening(); }

  void stop() override { endpoint_->stop_listening(); }
  void set_tls(std::shared_ptr<const TlsContext> tls) override {
    if (tls && tls->quic()) endpoint_->set_credentials(*tls->quic());
  }
  Transport transport() const override { return Transport::kQuic; }
  std::uint16_t port() const override { return endpoint_->local_port(); }
  std::vector<std::string> endpoints() const override {
    return {endpoint_text(endpoint_->local().to_string(), port())};
  }

 private:
  std::shared_ptr<Endpoint> endpoint_;
};

class QuicDialer final : public Dialer {
 public:
  explicit QuicDialer(DialRequest request) : request_(std::move(request)) {}

 private:
  void start(const Addresses& candidate) override {
    const auto& tls = request_.options.tls;
    if (!tls || !tls->quic()) return finish(Result::kRefused, NetError::kQuicCertificates);
    const auto& remote = candidate.front();
    const auto any = remote.is_v6() ? address(boost::asio::ip::address_v6::any())
                                    : address(boost::asio::ip::address_v4::any());
    try {
      const auto endpoint = std::make_shared<Endpoint>(
          request_.executor, request_.local.empty() ? any : request_.local.front(), 0,
          request_.options.settings.quic, *tls->quic(), false);
      const auto& name = request_.options.tls_name;
      channel_ = endpoint->connect({remote, request_.port, {}}, name.empty() ? request_.host : name,
                                   [this, weak = weak_from_this()](const error_code& error) {
                                     if (const auto self = weak.lock()) decided(error);
                                   });
    } catch (const boost::system::system_error& failure) {
      finish(Result::kFailed, failure.code());
    }
  }
  void stop() override { channel_.reset(); }

  void decided(const error_code& error) {
    auto channel = std::exchange(channel_, nullptr);
    if (cancelled()) return;
    if (!error) return finish(Result::kConnected, {}, std::move(channel));
    const bool refused = error.category() == tls_category();
    finish(refused ? Result::kRefused : Result::kFailed, error);
  }

  DialRequest request_;
  std::shared_ptr<Channel> channel_;  ///< during its handshake
};

}  // namespace

void listen(const ListenRequest& request, Listening& result) {
  if (const auto fault = fault_in_use(request.options.settings, request.options.tls.get())) {
    throw std::runtime_error("cannot listen on quic: " + *fault);
  }
  for (const auto& one : request.addresses) {
    result.listeners.push_back(request.open(
        Transport::kQuic, one, "", [&] { return std::make_unique<QuicListener>(request, one); }));
  }
}

std::shared_ptr<Dialer> make_dialer(DialRequest request) {
  return std::make_shared<QuicDialer>(std::move(request));
}

}  // namespace simco::net::quic
