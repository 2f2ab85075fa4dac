#include "simco/http/client.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <thread>

#include "tests/support/patience.hpp"

namespace simco::http {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr Limits kLimits{test::kPatience, 100};

/// Returns the body of a response `text`, or "failed: " and why there is none.
std::string read(const std::string& text) {
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  std::string request;
  std::thread server([&] {
    auto peer = acceptor.accept();
    asio::read_until(peer, asio::dynamic_buffer(request), "\r\n\r\n");
    asio::write(peer, asio::buffer(text));
  });
  const auto port = acceptor.local_endpoint().port();
  const auto body = get({"127.0.0.1", port}, "/metrics", kLimits);
  server.join();
  EXPECT_EQ(request,
            "GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n");
  return body ? *body : "failed: " + body.error();
}

TEST(HttpClient, TakesTheBody) {
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\na 1\r\n\r\nb 2\n"),
            "a 1\r\n\r\nb 2\n");
  EXPECT_EQ(read("HTTP/1.0 200 OK\r\nCONTENT-length:  4\r\n\r\na 1\n"), "a 1\n");
  EXPECT_EQ(read("HTTP/1.0 200 OK\r\n\r\n"), "");
}

TEST(HttpClient, SaysWhatIsWrong) {
  EXPECT_EQ(read("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), "failed: HTTP status 404");
  for (const char* length : {"9", "3", "-1", "4 4", "18446744073709551620"}) {
    EXPECT_EQ(read(std::string("HTTP/1.1 200 OK\r\nContent-Length: ") + length + "\r\n\r\na 1\n"),
              "failed: the response is incomplete")
        << length;
  }
  EXPECT_EQ(read("HTTP/1.1\r\n\r\n"), "failed: HTTP status 0");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\n\r\n" + std::string(kLimits.octets, 'a')),
            "failed: the response is too long");
  for (const char* other : {"", "HTTP/1.1 200 OK\r\nContent-", "SSH-2.0-OpenSSH\r\n\r\n"}) {
    EXPECT_EQ(read(other), "failed: the response is not HTTP") << other;
  }
  EXPECT_EQ(get({"127.0.0.1", 1}, "/", kLimits).error(), "Connection refused");
}

TEST(HttpClient, WaitsNoLongerThanItMay) {
  asio::io_context io;
  const asio::ip::tcp::acceptor silent(io, {asio::ip::address_v4::loopback(), 0});
  EXPECT_EQ(get({"127.0.0.1", silent.local_endpoint().port()}, "/", {1ms, 100}).error(),
            "Connection timed out");
}

}  // namespace
}  // namespace simco::http
