// Opens a pinhole for the RTP and RTCP of a call, prints where media may be sent, and closes it.
//
//     c++ -std=c++23 coroutine.cpp $(pkg-config --cflags --libs simco-agent-cpp) -o coroutine
//     ./coroutine 127.0.0.1:7626 10.0.0.5:5004/2 192.0.2.7:6000/2
#include <utility>  // Boost 1.74 uses it and does not include it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <exception>

#include "agent/pinhole.hpp"
#include "simco/wire/tuple_text.hpp"

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;

namespace {

asio::awaitable<void> call(simco::agent::Agent& agent, simco::net::HostPort middlebox,
                           simco::PerRequest wanted) {
  co_await agent.open(std::move(middlebox), use_awaitable);
  // Renewed until it is closed or destroyed. If this program dies, the rule ends within a minute.
  auto media = co_await simco::agent::Pinhole::open(agent, wanted, use_awaitable);
  std::printf("rule %u: external hosts send to %s\n", media.rule().pid.value,
              simco::to_text(media.rule().outside).c_str());
  co_await media.close(use_awaitable);
  std::puts("closed");
  co_await agent.close(use_awaitable);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: coroutine MIDDLEBOX INTERNAL EXTERNAL\n", stderr);
    return 2;
  }
  const auto middlebox = simco::net::parse_host_port(argv[1], simco::kSimcoPort);
  if (!middlebox) {
    std::fprintf(stderr, "coroutine: %s\n", middlebox.error().c_str());
    return 2;
  }
  try {
    asio::io_context io;
    simco::agent::Agent agent(io.get_executor());
    asio::co_spawn(io, call(agent, *middlebox, simco::PerRequest::udp(argv[2], argv[3], 60s)),
                   [](std::exception_ptr failure) {
                     if (failure) std::rethrow_exception(failure);
                   });
    io.run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "coroutine: %s\n", failure.what());
    return 1;
  }
}
