// The common part of clients whose transactions are messages on a channel, without a session: the
// connection from its beginning to its end.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "loadgen/client.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::loadgen {

/// A workload's client derives from this, sends, and reads messages.
class ChannelClient : public Client, protected net::ChannelHandler {
 public:
  ~ChannelClient() override;

  void open() override;
  void flush() override;
  bool full() const override;
  std::size_t queued() const override { return channel_ ? channel_->queued() : 0; }
  void finish() override;
  const net::MessageChannel* channel() const override { return channel_.get(); }

 protected:
  /// `framer` must outlive the client.
  ChannelClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
                const ConnectionOptions& options, Client::Observer& observer,
                const net::Framer& framer);

  const ConnectionOptions& options() const { return options_; }
  Client::Observer& observer() { return observer_; }
  /// True while messages can be sent.
  bool up() const { return channel_ && !down_; }
  net::MessageChannel& connection() { return *channel_; }
  /// Ends the connection; the observer hears of it once.
  void down(const boost::system::error_code& reason);
  /// The same for a peer that breaks the protocol. Returns the action of on_message().
  net::Flow refuse();

 private:
  void on_malformed(net::FramingError error) override;
  void on_input_done(std::optional<std::chrono::nanoseconds> unfinished) override;
  void on_output_drained() override;
  void on_closed(const boost::system::error_code& reason) override;

  boost::asio::any_io_executor executor_;
  net::ReadBuffer& read_buffer_;
  ConnectionOptions options_;
  Client::Observer& observer_;
  const net::Framer& framer_;
  std::shared_ptr<net::MessageChannel> channel_;
  /// Tells a connection attempt whether this still exists.
  std::shared_ptr<ChannelClient*> alive_;
  bool finishing_ = false;
  bool down_ = false;
};

}  // namespace simco::loadgen
