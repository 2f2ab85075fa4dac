#include "tests/support/udp_relay.hpp"

#include <boost/asio/steady_timer.hpp>
#include <memory>

namespace simco::test {

UdpRelay::UdpRelay(boost::asio::io_context& io, std::uint16_t server_port,
                   const Behaviour& behaviour)
    : io_(io),
      behaviour_(behaviour),
      random_(behaviour.seed),
      client_side_(io, Udp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
      server_side_(io, Udp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
      server_(boost::asio::ip::address_v4::loopback(), server_port) {
  receive(client_side_, inboxes_[0], true);
  receive(server_side_, inboxes_[1], false);
}

void UdpRelay::rebind() {
  server_side_ = Udp::socket(io_, Udp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  receive(server_side_, inboxes_[1], false);
}

void UdpRelay::receive(Udp::socket& socket, Inbox& inbox, bool from_client) {
  const auto take = [&, from_client, alive = std::weak_ptr(alive_)](
                        const boost::system::error_code& error, std::size_t size) {
    if (error == boost::asio::error::operation_aborted || alive.expired()) return;
    if (from_client) client_ = inbox.from;
    if (!error) forward({inbox.octets.data(), inbox.octets.data() + size}, from_client);
    receive(socket, inbox, from_client);
  };
  socket.async_receive_from(boost::asio::buffer(inbox.octets), inbox.from, take);
}

void UdpRelay::forward(std::vector<char> packet, bool to_server) {
  if (cut_ || std::uniform_real_distribution<>(0, 1)(random_) < behaviour_.loss) {
    ++lost_;
    return;
  }
  ++forwarded_;
  const auto delay =
      std::uniform_int_distribution<std::int64_t>(0, behaviour_.delay_max.count())(random_);
  auto timer = std::make_shared<boost::asio::steady_timer>(io_, std::chrono::microseconds(delay));
  timer->async_wait([this, timer, to_server, packet = std::move(packet),
                     alive = std::weak_ptr(alive_)](const auto& error) {
    if (error || alive.expired()) return;
    boost::system::error_code ignored;
    auto& socket = to_server ? server_side_ : client_side_;
    socket.send_to(boost::asio::buffer(packet), to_server ? server_ : client_, 0, ignored);
  });
}

}  // namespace simco::test
