// Keeps a pinhole open until SIGINT or SIGTERM, even if connections break: reconnects, finds the
// rule again, and opens another if it was lost.
//
//     c++ -std=c++23 reconnect.cpp $(pkg-config --cflags --libs simco-agent-cpp) -o reconnect
//     ./reconnect 127.0.0.1:7626 10.0.0.5:5004/2 192.0.2.7:6000/2
#include <utility>  // Boost 1.74 uses it and does not include it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <exception>

#include "agent/pinhole.hpp"
#include "simco/wire/tuple_text.hpp"

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using boost::system::error_code;
using simco::agent::Agent;
using simco::agent::Pinhole;

namespace {

class Keeper {
 public:
  Keeper(asio::io_context& io, const Agent::Options& options)
      : agent_(io.get_executor(), options) {}

  asio::awaitable<void> run(simco::net::HostPort middlebox, simco::PerRequest wanted) {
    co_await agent_.open(std::move(middlebox), use_awaitable);
    while (!stopping_) {
      media_ = co_await Pinhole::open(agent_, wanted, use_awaitable);
      std::printf("rule %u: external hosts send to %s\n", media_.rule().pid.value,
                  simco::to_text(media_.rule().outside).c_str());
      std::fflush(stdout);
      error_code closed;
      co_await media_.lost(asio::redirect_error(use_awaitable, closed));
      if (!closed) std::printf("rule %u is lost\n", media_.rule().pid.value);
    }
    co_await agent_.close(use_awaitable);
    std::puts("closed");
  }
  void stop() {
    stopping_ = true;
    if (media_) media_.close(asio::detached);
  }

 private:
  Agent agent_;
  Pinhole media_;
  bool stopping_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: reconnect MIDDLEBOX INTERNAL EXTERNAL\n", stderr);
    return 2;
  }
  const auto middlebox = simco::net::parse_host_port(argv[1], simco::kSimcoPort);
  if (!middlebox) {
    std::fprintf(stderr, "reconnect: %s\n", middlebox.error().c_str());
    return 2;
  }
  Agent::Options options;
  options.reconnect.emplace();
  options.reconnect->on_change = [](const error_code& change) {
    std::printf("session: %s\n", change ? change.message().c_str() : "open again");
    std::fflush(stdout);
  };
  try {
    asio::io_context io;
    Keeper keeper(io, options);
    asio::signal_set signals(io, SIGINT, SIGTERM);
    signals.async_wait([&](error_code, int) { keeper.stop(); });
    asio::co_spawn(io, keeper.run(*middlebox, simco::PerRequest::udp(argv[2], argv[3], 60s)),
                   [&](std::exception_ptr failure) {
                     signals.cancel();
                     if (failure) std::rethrow_exception(failure);
                   });
    io.run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "reconnect: %s\n", failure.what());
    return 1;
  }
}
