#include "loadgen/echo/echo_client.hpp"

#include "loadgen/echo/echo_message.hpp"

namespace simco::loadgen {

EchoClient::EchoClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
                       const ConnectionOptions& options, Client::Observer& observer)
    : ChannelClient(executor, read_buffer, options, observer, kEchoFramer) {}

std::optional<Client::Sent> EchoClient::send(std::uint64_t) {
  if (!up()) return std::nullopt;
  const net::StreamId stream{
      static_cast<std::uint16_t>(next_number_ % connection().outbound_streams())};
  const auto room = connection().allocate(kEchoSize, {stream, options().unordered});
  if (room.empty()) return std::nullopt;
  write_echo(next_number_, room);
  return Sent{{next_number_++}, stream};
}

net::Flow EchoClient::on_message(std::span<const std::byte> message, net::Delivery) {
  const auto number = read_echo(message);
  if (!number) return refuse();
  observer().on_ended(*this, {*number}, {});
  return net::Flow::kContinue;
}

}  // namespace simco::loadgen
