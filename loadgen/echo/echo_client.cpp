#include "loadgen/echo/echo_client.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "agent/error.hpp"
#include "loadgen/echo/echo_message.hpp"
#include "simco/net/connector.hpp"
#include "simco/net/limits.hpp"

namespace simco::loadgen {

using boost::system::error_code;

EchoClient::EchoClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
                       const ConnectionOptions& options, Client::Observer& observer)
    : executor_(executor),
      read_buffer_(read_buffer),
      options_(options),
      observer_(observer),
      alive_(std::make_shared<EchoClient*>(this)) {}

EchoClient::~EchoClient() {
  *alive_ = nullptr;
  if (channel_) channel_->detach();
}

void EchoClient::open() {
  net::connect(executor_, options_.transport, options_.target, options_.timeout, read_buffer_,
               [alive = alive_](const error_code& error, auto channel) {
                 if (*alive == nullptr) return;
                 EchoClient& self = **alive;
                 if (error) return self.down(error);
                 self.channel_ = std::move(channel);
                 self.channel_->start(self, {kEchoFramer});
                 self.observer_.on_ready(self);
               });
}

std::optional<Client::Sent> EchoClient::send(std::uint64_t) {
  if (down_ || !channel_) return std::nullopt;
  const net::StreamId stream{
      static_cast<std::uint16_t>(next_number_ % channel_->outbound_streams())};
  const auto room = channel_->allocate(kEchoSize, {stream, options_.unordered});
  if (room.empty()) return std::nullopt;
  write_echo(next_number_, room);
  return Sent{{next_number_++}, stream};
}

void EchoClient::flush() {
  if (channel_) channel_->flush();
}

bool EchoClient::full() const { return queued() > net::kOutputHighWater; }

void EchoClient::finish() {
  finishing_ = true;
  boost::asio::post(executor_, [alive = alive_] {
    if (*alive != nullptr) (*alive)->down({});
  });
}

net::Flow EchoClient::on_message(std::span<const std::byte> message, net::Delivery) {
  const auto number = read_echo(message);
  if (!number) {
    down(agent::AgentError::kProtocolError);
    return net::Flow::kStop;
  }
  observer_.on_reply(*this, {*number}, std::nullopt);
  return net::Flow::kContinue;
}

void EchoClient::on_malformed(net::FramingError) { down(agent::AgentError::kProtocolError); }

void EchoClient::on_input_done(bool) {
  if (!down_) observer_.on_turn(*this);
}

void EchoClient::on_output_drained() {
  if (!down_) observer_.on_turn(*this);
}

void EchoClient::on_closed(const error_code&) { down(agent::AgentError::kConnectionLost); }

void EchoClient::down(const error_code& reason) {
  if (std::exchange(down_, true)) return;
  if (channel_) channel_->close();
  observer_.on_down(*this, finishing_ ? error_code{} : reason);
}

}  // namespace simco::loadgen
