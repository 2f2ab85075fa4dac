// simco-echo: sends every message back on the stream it came on.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "simco/net/tcp_channel.hpp"
#include "simco/net/tcp_listener.hpp"

namespace simco::loadgen {

class EchoServer {
 public:
  /// Binds and listens; throws boost::system::system_error where it cannot.
  EchoServer(boost::asio::io_context& io, const std::vector<std::string>& addresses,
             std::uint16_t port);
  ~EchoServer();

  std::vector<std::uint16_t> ports() const;

 private:
  class Connection;

  void accept(boost::asio::ip::tcp::socket socket);

  boost::asio::io_context& io_;
  std::unique_ptr<net::ReadBuffer> read_buffer_;
  std::vector<std::unique_ptr<net::TcpListener>> listeners_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
};

}  // namespace simco::loadgen
