// The socket of the ng protocol: takes datagrams of senders that are allowed, some in each turn of
// the loop. A burst waits here, and not in the socket, whose buffer the kernel limits.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simco/net/datagram_port.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/wire/ip.hpp"

namespace simco::ng {

/// Must be destroyed after the loop has stopped.
class RequestPort final : private net::DatagramPort::User {
 public:
  using Handler = std::function<void(const net::Path& from, std::string_view octets)>;

  /// Binds the socket. Throws std::runtime_error on failure.
  RequestPort(boost::asio::io_context& io, const net::HostPort& listen, Handler handler);

  void start() { port_->start(); }
  void stop();
  /// Senders in addition to this host.
  void allow(std::vector<IpPrefix> senders) { allowed_ = std::move(senders); }
  /// Queues a datagram for flush().
  void send(const net::Path& to, std::string_view octets);
  void flush();
  /// ADDRESS:PORT of the socket.
  std::string endpoint() const;

 private:
  // net::DatagramPort::User
  void on_packet(net::DatagramPort& port, const net::Path& path,
                 std::span<const std::byte> packet) override;
  void on_unreachable(net::DatagramPort&, const net::Path&) override {}
  void on_batch_done() override { take_soon(); }

  bool is_allowed(const boost::asio::ip::address& address) const;
  void take_soon();
  void take_some();

  boost::asio::io_context& io_;
  Handler handler_;
  std::vector<IpPrefix> allowed_;
  net::DatagramBatch batch_;
  std::shared_ptr<net::DatagramPort> port_;
  std::deque<std::pair<net::Path, std::string>> backlog_;  ///< datagrams that have been read
  std::size_t backlog_octets_ = 0;
  bool taking_ = false;
  bool stopped_ = false;
};

}  // namespace simco::ng
