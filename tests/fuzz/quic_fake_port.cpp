// A port without a socket.
#include <utility>

#include "simco/net/quic/gate.hpp"
#include "tests/fuzz/quic_fakes.hpp"

namespace simco::fuzz {

net::DatagramPort* port = nullptr;
net::DatagramPort::User* port_user = nullptr;
std::vector<Datagram> sent;

}  // namespace simco::fuzz

namespace simco::net {

IpAddress remote_of(const Path&) { return {}; }

DatagramBatch::DatagramBatch() = default;

DatagramPort::DatagramPort(const boost::asio::any_io_executor& executor, DatagramBatch& batch,
                           const Options& options, User& user)
    : descriptor_(executor), batch_(batch), options_(options), user_(&user) {
  fuzz::port = this;
  fuzz::port_user = &user;
}
void DatagramPort::stop() {
  user_ = nullptr;
  fuzz::port = nullptr;
  fuzz::port_user = nullptr;
}
std::uint16_t DatagramPort::local_port() { return 7626; }
void DatagramPort::wait_readable() {}
void DatagramPort::send(const Path& path, std::span<const std::byte> packet) {
  fuzz::sent.push_back({path, {packet.begin(), packet.end()}});
}
void DatagramPort::flush() {}

}  // namespace simco::net
