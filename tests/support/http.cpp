#include "tests/support/http.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace simco::test {

std::string http_get(std::uint16_t port, const std::string& path) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket(io);
  socket.connect({boost::asio::ip::address_v4::loopback(), port});
  boost::asio::write(socket, boost::asio::buffer("GET " + path + " HTTP/1.0\r\n\r\n"));
  std::string text;
  boost::system::error_code error;
  boost::asio::read(socket, boost::asio::dynamic_buffer(text), error);
  return text;
}

}  // namespace simco::test
