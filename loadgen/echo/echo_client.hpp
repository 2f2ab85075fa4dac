// The `echo` workload: 64-octet messages to simco-echo, to measure the transport alone. They use
// the streams of an association in turn.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "loadgen/client.hpp"
#include "simco/net/read_buffer.hpp"

namespace simco::loadgen {

/// A connection to simco-echo.
class EchoClient final : public Client, private net::ChannelHandler {
 public:
  EchoClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
             const ConnectionOptions& options, Client::Observer& observer);
  ~EchoClient() override;

  void open() override;
  std::optional<Sent> send(std::uint64_t index) override;
  void flush() override;
  bool full() const override;
  std::size_t queued() const override { return channel_ ? channel_->queued() : 0; }
  void finish() override;
  const net::MessageChannel* channel() const override { return channel_.get(); }

 private:
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override;
  void on_malformed(net::FramingError error) override;
  void on_input_done(bool mid_message) override;
  void on_output_drained() override;
  void on_closed(const boost::system::error_code& reason) override;
  void down(const boost::system::error_code& reason);

  boost::asio::any_io_executor executor_;
  net::ReadBuffer& read_buffer_;
  ConnectionOptions options_;
  Client::Observer& observer_;
  std::shared_ptr<net::MessageChannel> channel_;
  std::shared_ptr<EchoClient*> alive_;  ///< tells a connection attempt whether this still exists
  std::uint32_t next_number_ = 0;
  bool finishing_ = false;
  bool down_ = false;
};

}  // namespace simco::loadgen
