#include "loadgen/echo_server.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "simco/net/limits.hpp"

namespace simco::loadgen {

class EchoServer::Connection final : public std::enable_shared_from_this<Connection>,
                                     private net::ChannelHandler {
 public:
  Connection(EchoServer& server, std::shared_ptr<net::MessageChannel> channel)
      : server_(server), channel_(std::move(channel)) {}
  ~Connection() { channel_->detach(); }
  void start() { channel_->start(*this); }

 private:
  net::Flow on_message(std::span<const std::byte> message, StreamId stream) override {
    const auto room = channel_->allocate(message.size(), stream);
    if (room.empty()) return net::Flow::kStop;
    std::ranges::copy(message, room.begin());
    if (channel_->queued() <= net::kOutputHighWater) return net::Flow::kContinue;
    return net::Flow::kPause;
  }
  void on_malformed(DecodeError) override { channel_->close(); }
  void on_input_done(bool) override {
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

EchoServer::EchoServer(boost::asio::io_context& io, const std::vector<std::string>& addresses,
                       std::uint16_t port)
    : io_(io), read_buffer_(std::make_unique<net::ReadBuffer>()) {
  for (const auto& address : addresses) {
    listeners_.push_back(std::make_unique<net::TcpListener>(
        io.get_executor(),
        boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address(address), port),
        [this](auto socket) { accept(std::move(socket)); },
        [](const boost::system::error_code&) {}));
  }
}

EchoServer::~EchoServer() = default;

std::vector<std::uint16_t> EchoServer::ports() const {
  std::vector<std::uint16_t> result;
  for (const auto& listener : listeners_) result.push_back(listener->local_endpoint().port());
  return result;
}

void EchoServer::accept(boost::asio::ip::tcp::socket socket) {
  const auto connection = std::make_shared<Connection>(
      *this, std::make_shared<net::TcpChannel>(std::move(socket), *read_buffer_));
  connections_.insert(connection);
  connection->start();
}

}  // namespace simco::loadgen
