#include "loadgen/echo/echo_workload.hpp"

#include "loadgen/channel_client.hpp"
#include "loadgen/echo/echo_message.hpp"

namespace simco::loadgen {
namespace {

/// A connection to simco-echo. Messages use the streams of an association in turn.
class EchoClient final : public ChannelClient {
 public:
  EchoClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
             const ConnectionOptions& options, Client::Observer& observer)
      : ChannelClient(executor, read_buffer, options, observer, kEchoFramer) {}

  std::optional<Sent> send(std::uint64_t index) override;

 private:
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override;

  std::uint32_t next_number_ = 0;
};

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

}  // namespace

std::unique_ptr<Client> EchoWorkload::make_client(const boost::asio::any_io_executor& executor,
                                                  net::ReadBuffer& read_buffer,
                                                  const ConnectionOptions& options,
                                                  Client::Observer& observer) const {
  return std::make_unique<EchoClient>(executor, read_buffer, options, observer);
}

}  // namespace simco::loadgen
