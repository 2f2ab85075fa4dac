// simco-echo: sends every message back on the stream it came on, ordered or not as it came.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "simco/net/listener.hpp"
#include "simco/net/read_buffer.hpp"

namespace simco::loadgen {

class EchoServer {
 public:
  /// Binds and listens; throws std::runtime_error with a sentence where it cannot.
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
