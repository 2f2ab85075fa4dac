// An HTTP server and its clients, friendly and hostile, on one loop.
#include "simco/http/server.hpp"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "simco/http/limits.hpp"
#include "simco/metrics/page.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/port.hpp"

namespace simco::test {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

/// A client of a server on the loopback interface: sends `text`, and reads to the end.
class Peer {
 public:
  Peer(Loop& loop, std::uint16_t port, std::string text) : Peer(loop, port) {
    const auto sent = std::make_shared<const std::string>(std::move(text));
    // The peer may be gone before everything is sent.
    asio::async_write(*socket_, asio::buffer(*sent),
                      [socket = socket_, sent](const error_code&, std::size_t) {});
    read();
  }
  /// Sends and reads nothing yet.
  Peer(Loop& loop, std::uint16_t port) : socket_(std::make_shared<Tcp::socket>(loop.io())) {
    socket_->connect({asio::ip::address_v4::loopback(), port});
  }
  void read() {
    asio::async_read(*socket_, asio::dynamic_buffer(answer), [this](const error_code& error, auto) {
      ended = error;
      socket_->close();
    });
  }
  Tcp::socket& socket() { return *socket_; }

  std::string answer;
  std::optional<error_code> ended;

 private:
  std::shared_ptr<Tcp::socket> socket_;
};

struct HttpServer : testing::Test {
  Loop loop;
  std::uint16_t port = free_port();
  std::string endpoint = "127.0.0.1:" + std::to_string(port);
  std::string body = "text\n";
  std::optional<http::Server> server{
      std::in_place, loop.io(), endpoint, "cannot serve", [this](std::string_view path) {
        return path == "/page" ? http::Response{200, body} : http::Response{404, "/page is there"};
      }};

  std::string answer(std::string request) {
    Peer peer(loop, port, std::move(request));
    EXPECT_TRUE(loop.run_until([&] { return peer.ended.has_value(); }));
    EXPECT_EQ(peer.ended, asio::error::eof);
    return peer.answer;
  }
};

TEST_F(HttpServer, ServesOnePageForEachConnection) {
  constexpr const char* kPage =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n"
      "Cache-Control: no-store\r\nConnection: close\r\n\r\ntext\n";
  for (const char* request :
       {"GET /page HTTP/1.0\r\n\r\n", "GET /page HTTP/1.1\r\nHost: here\r\n\r\n",
        "GET /page?a=/b HTTP/1.1\r\n\r\n", "GET http://here:80/page HTTP/1.1\r\n\r\n",
        "GET /page HTTP/1.1\r\n\r\nGET /page HTTP/1.1\r\n\r\n"}) {
    EXPECT_EQ(answer(request), kPage) << request;
  }
  const auto none = answer("GET /other HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(none.starts_with("HTTP/1.1 404 Not Found\r\n")) << none;
  EXPECT_TRUE(none.ends_with("\r\n\r\n/page is there")) << none;
}

TEST_F(HttpServer, RefusesOtherMethods) {
  const auto post = answer("POST /page HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" +
                           std::string(1'000'000, 'x'));
  EXPECT_TRUE(post.starts_with("HTTP/1.1 405 Method Not Allowed\r\nAllow: GET\r\n")) << post;
  EXPECT_TRUE(post.ends_with("\r\n\r\nonly GET is served\n")) << post;
  const auto head = answer("HEAD /page HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 405 ")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(HttpServer, RefusesMalformedRequests) {
  for (const char* request :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /page\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        "GET page HTTP/1.1\r\n\r\n", "GET /page HTTP/2.0\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n",
        "GET http:// HTTP/1.1\r\n\r\n", "GET http://here HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
    EXPECT_TRUE(answer(request).starts_with("HTTP/1.1 400 Bad Request\r\n")) << request;
  }
  EXPECT_TRUE(answer(std::string("\0 \0 \0\r\n\r\n", 9)).starts_with("HTTP/1.1 400 "));
}

TEST_F(HttpServer, RefusesAHeadThatIsTooLong) {
  const std::string begin = "GET /page HTTP/1.1\r\nField: ";
  const std::string end = "\r\n\r\n";
  const auto request = [&](std::size_t size) {
    return begin + std::string(size - begin.size() - end.size(), 'x') + end;
  };
  EXPECT_TRUE(answer(request(http::kHeadMax)).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(answer(request(http::kHeadMax + 1)).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(answer(std::string(1'000'000, 'x')).starts_with("HTTP/1.1 431 "));
}

TEST_F(HttpServer, TakesARequestInPieces) {
  Peer peer(loop, port);
  for (const char octet : std::string_view("GET /page HTTP/1.1\r\n\r\n")) {
    asio::write(peer.socket(), asio::buffer(&octet, 1));
    loop.io().poll();
  }
  peer.read();
  EXPECT_TRUE(loop.run_until([&] { return peer.ended.has_value(); }));
  EXPECT_TRUE(peer.answer.starts_with("HTTP/1.1 200 ")) << peer.answer;
}

// Clients that send half a request, do not read, or do not close.
TEST_F(HttpServer, ClosesSlowConnections) {
  body.assign(32'000'000, 'x');  // more than the sockets take
  Peer slow(loop, port, "GET /page HTTP/1.1\r\n");
  Peer deaf(loop, port);
  asio::write(deaf.socket(), asio::buffer(std::string_view("GET /page HTTP/1.1\r\n\r\n")));
  EXPECT_TRUE(loop.run_until([&] { return slow.ended.has_value(); }));
  EXPECT_EQ(slow.answer, "");
  loop.watch();
  deaf.read();
  EXPECT_TRUE(loop.run_until([&] { return deaf.ended.has_value(); }));
  EXPECT_LT(deaf.answer.size(), body.size());
}

TEST_F(HttpServer, HasFewConnections) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (std::size_t i = 0; i < http::kConnectionsMax; ++i) {
    peers.push_back(std::make_unique<Peer>(loop, port));
  }
  Peer further(loop, port);
  further.read();
  EXPECT_TRUE(loop.run_until([&] { return further.ended.has_value(); }));
  EXPECT_EQ(further.answer, "");
  peers.pop_back();
  EXPECT_TRUE(loop.run_until([&] {
    Peer peer(loop, port, "GET /page HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(loop.run_until([&] { return peer.ended.has_value(); }));
    return peer.answer.starts_with("HTTP/1.1 200 ");
  }));
}

TEST_F(HttpServer, AnswersNothingAfterItsEnd) {
  Peer peer(loop, port, "GET /page HTTP/1.1\r\n");
  loop.watch();
  server.reset();
  asio::write(peer.socket(), asio::buffer(std::string_view("\r\n")));
  EXPECT_TRUE(loop.run_until([&] { return peer.ended.has_value(); }));
  EXPECT_EQ(peer.answer, "");
}

TEST_F(HttpServer, SaysWhyItCannotListen) {
  const std::map<std::string, std::string> faults = {
      {endpoint, "Address already in use"}, {"192.0.2.1:9", "Cannot assign requested address"}};
  for (const auto& [where, why] : faults) {
    try {
      http::Server(loop.io(), where, "cannot serve", nullptr);
      ADD_FAILURE() << where;
    } catch (const std::runtime_error& failure) {
      EXPECT_EQ(failure.what(), "cannot serve " + where + ": " + why);
    }
  }
}

TEST(MetricsPage, SaysWhereTheMetricsAre) {
  Loop loop;
  const auto port = free_port();
  const auto page = metrics::serve(loop.io(), "127.0.0.1:" + std::to_string(port), "program 1.2",
                                   [] { return std::string("a 1\n"); });
  const auto answer = [&](const std::string& path) {
    Peer peer(loop, port, "GET " + path + " HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(loop.run_until([&] { return peer.ended.has_value(); }));
    return peer.answer;
  };
  const auto text = answer("/metrics");
  EXPECT_TRUE(text.contains("\r\nContent-Type: text/plain; version=0.0.4;")) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\na 1\n")) << text;
  EXPECT_TRUE(answer("/").ends_with("\r\n\r\nprogram 1.2: the metrics are at /metrics\n"));
  for (const char* path : {"/metric", "/metrics/x"}) {
    const auto other = answer(path);
    EXPECT_TRUE(other.starts_with("HTTP/1.1 404 Not Found\r\n")) << other;
    EXPECT_TRUE(other.ends_with("the metrics are at /metrics\n")) << other;
  }
}

}  // namespace
}  // namespace simco::test
