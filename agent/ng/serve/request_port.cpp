#include "agent/ng/serve/request_port.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <stdexcept>

#include "agent/ng/serve/limits.hpp"

namespace simco::ng {

RequestPort::RequestPort(boost::asio::io_context& io, const net::HostPort& listen, Handler handler)
    : io_(io), handler_(std::move(handler)) {
  try {
    const auto address = boost::asio::ip::make_address(listen.host);
    const auto options = net::DatagramPort::Options::over_udp(address, listen.port, true);
    port_ = std::make_shared<net::DatagramPort>(io.get_executor(), batch_, options,
                                                static_cast<net::DatagramPort::User&>(*this));
  } catch (const boost::system::system_error& failure) {
    throw std::runtime_error("cannot listen on udp " +
                             net::endpoint_text(listen.host, listen.port) + ": " +
                             failure.code().message());
  }
}

void RequestPort::stop() {
  stopped_ = true;
  port_->stop();
}

std::string RequestPort::endpoint() const {
  return net::endpoint_text(port_->local().to_string(), port_->local_port());
}

void RequestPort::send(const net::Path& to, std::string_view octets) {
  port_->send(to, std::as_bytes(std::span(octets)));
}

void RequestPort::flush() {
  if (!taking_) port_->flush();
}

void RequestPort::on_packet(net::DatagramPort&, const net::Path& path,
                            std::span<const std::byte> packet) {
  if (!is_allowed(path.remote) || backlog_octets_ + packet.size() > kBacklogMax) return;
  backlog_.emplace_back(path,
                        std::string(reinterpret_cast<const char*>(packet.data()), packet.size()));
  backlog_octets_ += packet.size();
}

bool RequestPort::is_allowed(const boost::asio::ip::address& address) const {
  if (address.is_loopback()) return true;
  const auto parsed = parse_address(net::address_text(address));
  return parsed && std::ranges::any_of(allowed_, [&](const IpPrefix& prefix) {
           return contains(prefix, host_prefix(*parsed));
         });
}

void RequestPort::take_soon() {
  if (backlog_.empty() || std::exchange(taking_, true)) return;
  boost::asio::post(io_, [this] {
    if (!stopped_) take_some();
  });
}

void RequestPort::take_some() {
  for (std::size_t i = 0; i < kDatagramsPerTurn && !backlog_.empty(); ++i) {
    const auto [from, octets] = std::move(backlog_.front());
    backlog_.pop_front();
    backlog_octets_ -= octets.size();
    handler_(from, octets);
  }
  port_->flush();
  taking_ = false;
  take_soon();
}

}  // namespace simco::ng
