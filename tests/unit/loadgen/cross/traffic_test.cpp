// The competing traffic against peers and a system that do not play along.
#include "loadgen/cross/traffic.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <optional>
#include <string>

#include "tests/support/loop.hpp"
#include "tests/support/port.hpp"
#include "tests/support/sanitizer.hpp"

namespace simco::cross {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

const auto kLoopback = boost::asio::ip::address_v4::loopback();

#ifndef SIMCO_SANITIZED
/// Lets this process open no more descriptors than it has.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};
#endif

// A sanitizer needs descriptors of its own: it asks through pipes whether memory can be read.
#ifndef SIMCO_SANITIZED
TEST(CrossListener, WaitsWhileItHasNoDescriptors) {
  Journal journal;  // outlives what writes to it
  test::Loop loop;
  Settings settings;
  settings.address = kLoopback;
  settings.port = test::free_port();
  start(loop.io(), journal, settings);
  loop.watch(std::chrono::milliseconds(1));
  tcp::socket client(loop.io());
  client.open(tcp::v4());
  {
    const NoDescriptors none;
    client.connect({kLoopback, settings.port});
    // It tries, then waits: a client that tries without pause is always busy.
    constexpr int kTurns = 1000;
    loop.io().restart();
    int turns = 0;
    while (turns < kTurns && loop.io().poll_one() != 0) ++turns;
    EXPECT_LT(turns, kTurns);
  }
  // Then it serves the clients that came meanwhile.
  const std::array<unsigned char, 8> ask = {0, 0, 0, 0, 0, 0, 0, 100};
  boost::asio::write(client, boost::asio::buffer(ask));
  std::array<char, 100> object{};
  std::optional<std::size_t> got;
  boost::asio::async_read(client, boost::asio::buffer(object),
                          [&](const error_code&, std::size_t octets) { got = octets; });
  ASSERT_TRUE(loop.run_until([&] { return got.has_value(); }));
  EXPECT_EQ(*got, 100U);
}
#endif

TEST(CrossStart, SaysWhereItCannotConnectOrListen) {
  Journal journal;  // outlives what writes to it
  test::Loop loop;
  const auto fault = [&](Role role, std::uint16_t port) -> std::string {
    Settings settings;
    settings.role = role;
    settings.address = kLoopback;
    settings.port = port;
    settings.connections = 1;
    try {
      start(loop.io(), journal, settings);
    } catch (const std::exception& failure) {
      return failure.what();
    }
    return "it started";
  };
  const tcp::acceptor taken(loop.io(), tcp::endpoint(kLoopback, 0), false);
  const auto port = taken.local_endpoint().port();
  EXPECT_EQ(fault(Role::kListen, port),
            fmt::format("cannot listen on TCP 127.0.0.1:{}: Address already in use", port));
  tcp::acceptor deaf(loop.io(), tcp::v4());  // has a port, and does not listen
  deaf.bind({kLoopback, 0});
  const auto nobody = deaf.local_endpoint().port();
  EXPECT_EQ(fault(Role::kBulk, nobody),
            fmt::format("cannot connect to TCP 127.0.0.1:{}: Connection refused", nobody));
}

TEST(CrossWeb, ASessionEndsWithItsConnection) {
  Journal journal;  // outlives what writes to it
  test::Loop loop;
  tcp::acceptor acceptor(loop.io(), tcp::endpoint(kLoopback, 0));
  Settings settings;
  settings.role = Role::kWeb;
  settings.address = kLoopback;
  settings.port = acceptor.local_endpoint().port();
  settings.rate = 1e-6;  // one session
  start(loop.io(), journal, settings);
  std::optional<tcp::socket> server;
  acceptor.async_accept([&](const error_code& error, tcp::socket socket) {
    ASSERT_FALSE(error);
    server.emplace(std::move(socket));
  });
  ASSERT_TRUE(loop.run_until([&] { return server.has_value(); }));
  std::array<unsigned char, 8> asked{};
  std::optional<error_code> result;
  const auto read = [&] {
    result.reset();
    boost::asio::async_read(*server, boost::asio::buffer(asked),
                            [&](const error_code& error, std::size_t) { result = error; });
    return loop.run_until([&] { return result.has_value(); });
  };
  ASSERT_TRUE(read());
  EXPECT_FALSE(*result);
  // Less than it asked for: it asks for nothing more, neither at once nor after it has thought.
  server->shutdown(tcp::socket::shutdown_send);
  ASSERT_TRUE(read());
  EXPECT_EQ(*result, boost::asio::error::eof);
}

}  // namespace
}  // namespace simco::cross
