// A network between a UDP client and a UDP server that delays every packet by another time, so that
// they overtake each other, and loses some. The same seed does the same with the same packets.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <vector>

namespace simco::test {

class UdpRelay {
 public:
  using Udp = boost::asio::ip::udp;
  struct Behaviour {
    std::chrono::microseconds delay_max{3000};
    double loss = 0.01;
    std::uint32_t seed = 1;
  };

  UdpRelay(boost::asio::io_context& io, std::uint16_t server_port, const Behaviour& behaviour);

  std::uint16_t port() const { return client_side_.local_endpoint().port(); }
  /// From now on the client comes from another port, as behind a NAT that has forgotten it. Packets
  /// to the old port are lost.
  void rebind();
  /// Everything is lost, or not.
  void cut(bool everything) { cut_ = everything; }
  std::size_t forwarded() const { return forwarded_; }
  std::size_t lost() const { return lost_; }

 private:
  struct Inbox {
    std::array<char, 65'536> octets;
    Udp::endpoint from;
  };

  void receive(Udp::socket& socket, Inbox& inbox, bool from_client);
  void forward(std::vector<char> packet, bool to_server);

  boost::asio::io_context& io_;
  Behaviour behaviour_;
  std::mt19937 random_;
  std::array<Inbox, 2> inboxes_;
  Udp::socket client_side_;
  Udp::socket server_side_;
  Udp::endpoint server_;
  Udp::endpoint client_;
  bool cut_ = false;
  std::size_t forwarded_ = 0;
  std::size_t lost_ = 0;
  /// Handlers that are due may run after this has gone.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace simco::test
