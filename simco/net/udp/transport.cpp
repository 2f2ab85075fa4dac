#include "simco/net/transports.hpp"

#include <boost/system/system_error.hpp>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/udp/channel.hpp"

namespace simco::net::udp {
namespace {

class UdpListener final : public Listener {
 public:
  UdpListener(const ListenRequest& request, const boost::asio::ip::address& where)
      : socket_(std::make_shared<Socket>(request.executor, where, request.options.port,
                                         request.on_accept)) {
    socket_->start();
  }
  ~UdpListener() override { socket_->stop_listening(); }

  void stop() override { socket_->stop_listening(); }
  Transport transport() const override { return Transport::kUdp; }
  std::uint16_t port() const override { return socket_->local_port(); }
  std::vector<std::string> endpoints() const override {
    return {endpoint_text(socket_->local().to_string(), port())};
  }

 private:
  std::shared_ptr<Socket> socket_;
};

class UdpDialer final : public Dialer {
 public:
  explicit UdpDialer(DialRequest request) : request_(std::move(request)) {}

 private:
  void start(const Addresses& candidate) override {
    const auto& remote = candidate.front();
    const auto any = remote.is_v6() ? boost::asio::ip::address(boost::asio::ip::address_v6::any())
                                    : boost::asio::ip::address(boost::asio::ip::address_v4::any());
    try {
      const auto socket = std::make_shared<Socket>(
          request_.executor, request_.local.empty() ? any : request_.local.front(), 0, nullptr);
      socket->start();
      finish(Result::kConnected, {}, socket->connect({remote, request_.port, {}}));
    } catch (const boost::system::system_error& failure) {
      finish(Result::kFailed, failure.code());
    }
  }
  void stop() override {}

  DialRequest request_;
};

}  // namespace

void listen(const ListenRequest& request, Listening& result) {
  for (const auto& one : request.addresses) {
    result.listeners.push_back(request.open(
        Transport::kUdp, one, "", [&] { return std::make_unique<UdpListener>(request, one); }));
  }
}

std::shared_ptr<Dialer> make_dialer(DialRequest request) {
  return std::make_shared<UdpDialer>(std::move(request));
}

}  // namespace simco::net::udp
