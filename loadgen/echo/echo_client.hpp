// The `echo` workload: 64-octet messages to simco-echo, to measure the transport alone. They use
// the streams of an association in turn.
#pragma once

#include "loadgen/channel_client.hpp"

namespace simco::loadgen {

/// A connection to simco-echo.
class EchoClient final : public ChannelClient {
 public:
  EchoClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
             const ConnectionOptions& options, Client::Observer& observer);

  std::optional<Sent> send(std::uint64_t index) override;

 private:
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override;

  std::uint32_t next_number_ = 0;
};

}  // namespace simco::loadgen
