#include "loadgen/echo/echo_server.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "loadgen/echo/echo_message.hpp"
#include "simco/net/limits.hpp"

namespace simco::loadgen {

class EchoServer::Connection final : public std::enable_shared_from_this<Connection>,
                                     private net::ChannelHandler {
 public:
  Connection(EchoServer& server, std::shared_ptr<net::MessageChannel> channel)
      : server_(server), channel_(std::move(channel)) {}
  ~Connection() { channel_->detach(); }
  void start() { channel_->start(*this, {kEchoFramer}); }

 private:
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override {
    const auto room = channel_->allocate(message.size(), delivery);
    if (room.empty()) return net::Flow::kStop;
    std::ranges::copy(message, room.begin());
    if (channel_->queued() <= net::kOutputHighWater) return net::Flow::kContinue;
    return net::Flow::kPause;
  }
  void on_malformed(net::FramingError) override { channel_->close(); }
  void on_input_done(std::optional<std::chrono::nanoseconds>) override {
    channel_->flush();
    if (channel_->queued() <= net::kOutputHighWater) channel_->resume_input();
  }
  void on_output_drained() override { channel_->resume_input(); }
  void on_closed(const boost::system::error_code&) override {
    boost::asio::post(server_.io_,
                      [self = shared_from_this()] { self->server_.connections_.erase(self); });
  }

  EchoServer& server_;
  std::shared_ptr<net::MessageChannel> channel_;
};

EchoServer::EchoServer(boost::asio::io_context& io, const net::ListenOptions& options)
    : io_(io), read_buffer_(std::make_unique<net::ReadBuffer>()) {
  listening_ = net::listen(
      io.get_executor(), options, *read_buffer_,
      [this](std::shared_ptr<net::MessageChannel> channel) { accept(std::move(channel)); },
      [](const boost::system::error_code&) {});
}

EchoServer::~EchoServer() = default;

void EchoServer::accept(std::shared_ptr<net::MessageChannel> channel) {
  const auto connection = std::make_shared<Connection>(*this, std::move(channel));
  connections_.insert(connection);
  connection->start();
}

}  // namespace simco::loadgen
