#include "agent/simcoctl/http_get.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <thread>

namespace simco::ctl {
namespace {

namespace asio = boost::asio;

/// What is made of a server that answers `text` to one request; "failed: " and why if nothing is.
std::string get(const std::string& text) {
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  std::string request;
  std::thread server([&] {
    auto peer = acceptor.accept();
    asio::read_until(peer, asio::dynamic_buffer(request), "\r\n\r\n");
    asio::write(peer, asio::buffer(text));
  });
  std::string result;
  try {
    result = http_get({"127.0.0.1", acceptor.local_endpoint().port()}, "/metrics");
  } catch (const std::exception& failure) {
    result = std::string("failed: ") + failure.what();
  }
  server.join();
  EXPECT_EQ(request, "GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
  return result;
}

TEST(HttpGet, TakesTheBody) {
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\na 1\r\n\r\nb 2\n"),
            "a 1\r\n\r\nb 2\n");
  EXPECT_EQ(get("HTTP/1.0 200 OK\r\nCONTENT-length:  4\r\n\r\na 1\n"), "a 1\n");
  EXPECT_EQ(get("HTTP/1.0 200 OK\r\n\r\n"), "");
}

TEST(HttpGet, SaysWhatIsWrong) {
  EXPECT_EQ(get("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), "failed: HTTP status 404");
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na 1\n"),
            "failed: the response is incomplete");
  EXPECT_EQ(get("HTTP/1.1\r\n\r\n"), "failed: HTTP status 0");
  for (const char* other : {"", "HTTP/1.1 200 OK\r\nContent-", "SSH-2.0-OpenSSH\r\n\r\n"}) {
    EXPECT_EQ(get(other), "failed: the response is not HTTP") << other;
  }
  EXPECT_THROW(http_get({"127.0.0.1", 1}, "/"), boost::system::system_error);
}

}  // namespace
}  // namespace simco::ctl
