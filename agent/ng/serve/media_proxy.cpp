#include "agent/ng/serve/media_proxy.hpp"

#include <boost/asio/buffer.hpp>
#include <random>
#include <utility>

#include "agent/ng/protocol/codec.hpp"
#include "agent/ng/serve/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::ng {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// The media proxy has replies to the cookies of earlier processes.
std::string fresh_cookies() {
  std::random_device random;
  std::string result = "ng_";
  for (int i = 0; i < 2; ++i) result += std::to_string(random()) + '_';
  return result;
}

}  // namespace

MediaProxy::MediaProxy(asio::io_context& io, const net::HostPort& where, Handler handler)
    : socket_(io), handler_(std::move(handler)), cookies_(fresh_cookies()), buffer_(kDatagramMax) {
  const asio::ip::udp::endpoint target(asio::ip::make_address(where.host), where.port);
  socket_.open(target.protocol());
  socket_.connect(target);
  socket_.non_blocking(true);
}

/// The cookie is one of this process and the number of the request.
void MediaProxy::pass_on(std::uint64_t request, const std::string& dictionary) {
  error_code ignored;
  socket_.send(asio::buffer(cookies_ + std::to_string(request) + dictionary), 0, ignored);
}

void MediaProxy::receive() {
  socket_.async_receive(asio::buffer(buffer_), [this](const error_code& error, std::size_t size) {
    if (!socket_.is_open()) return;
    if (!error) take({buffer_.data(), size});
    receive();
  });
}

void MediaProxy::take(std::string_view octets) {
  const auto datagram = read_datagram(octets);
  if (!datagram || !datagram->dictionary || !datagram->cookie.starts_with(cookies_)) return;
  const auto request = parse_number<std::uint64_t>(datagram->cookie.substr(cookies_.size()));
  if (request) handler_(*request, *datagram->dictionary);
}

}  // namespace simco::ng
