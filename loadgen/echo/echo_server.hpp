// simco-echo: returns every message on the stream on which it arrived, ordered or unordered as it
// arrived.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <unordered_set>

#include "simco/net/listener.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::loadgen {

/// The listeners of simco-echo and its connections. Belongs to one event loop.
class EchoServer {
 public:
  /// Binds and listens. Throws std::runtime_error with a sentence on failure.
  EchoServer(boost::asio::io_context& io, const net::ListenOptions& options);
  ~EchoServer();

  const net::Listening& listening() const { return listening_; }

 private:
  class Connection;

  void accept(std::shared_ptr<net::MessageChannel> channel);

  boost::asio::io_context& io_;
  std::unique_ptr<net::ReadBuffer> read_buffer_;
  net::Listening listening_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
};

}  // namespace simco::loadgen
