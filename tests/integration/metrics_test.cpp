// Metrics are read by threads of their own while the loop counts.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "tests/support/figures.hpp"
#include "tests/support/port.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::test {
namespace {

/// What an HTTP server on the loopback interface answers to a GET.
std::string get(std::uint16_t port, const std::string& path) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket(io);
  socket.connect({boost::asio::ip::address_v4::loopback(), port});
  boost::asio::write(socket, boost::asio::buffer("GET " + path + " HTTP/1.0\r\n\r\n"));
  std::string text;
  boost::system::error_code error;
  boost::asio::read(socket, boost::asio::dynamic_buffer(text), error);
  return text;
}

TEST(MetricsThreads, ReadWhileTheLoopCounts) {
  const auto port = free_port();
  middlebox::Metrics metrics;
  metrics.serve("127.0.0.1:" + std::to_string(port));
  backend::NullBackend backend;
  ServerThread server({}, backend, nullptr, &metrics);
  RawAgent agent(server.port());
  agent.open();
  constexpr int kRules = 200;
  std::thread maker([&] {
    for (std::uint16_t i = 1; i <= kRules; ++i) agent.ask(pinhole(i, 3600));
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(get(port, "/metrics").find("simco_sessions_opened_total 1\n"), std::string::npos);
  }
  maker.join();
  EXPECT_NE(get(port, "/metrics").find("simco_transactions_total{reply=\"ok\",type=\"PER\"} 200\n"),
            std::string::npos);
}

}  // namespace
}  // namespace simco::test
