// Reserves two ports for the media of a call before the other end is known, and enables them later:
// with futures, from a thread that waits, while another runs the event loop.
//
//     c++ -std=c++23 future.cpp $(pkg-config --cflags --libs simco-agent-cpp) -o future
//     ./future 127.0.0.1:7626 10.0.0.5:5004/2 192.0.2.7:6000/2
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <exception>
#include <thread>

#include "agent/agent.hpp"
#include "simco/wire/tuple_text.hpp"

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace simco;

namespace {

void call(agent::Agent& agent, const net::HostPort& middlebox, const char* internal,
          const char* external) {
  agent.open(middlebox, asio::use_future).get();
  const auto reserved =
      agent.reserve(PrrRequest::udp(2, 30s, ReservedParity::kEven), asio::use_future).get();
  std::printf("reservation %u\n", reserved.pid.value);
  // ... the other end answers, and says where it sends from.
  const auto request = PeaRequest::udp(reserved.pid, internal, external, 60s);
  const auto enabled = agent.enable_reserved(request, asio::use_future).get();
  std::printf("rule %u: external hosts send to %s\n", enabled.pid.value,
              to_text(enabled.outside).c_str());
  agent.remove(enabled.pid, asio::use_future).get();
  agent.close(asio::use_future).get();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: future MIDDLEBOX INTERNAL EXTERNAL\n", stderr);
    return 2;
  }
  const auto middlebox = net::parse_host_port(argv[1], kSimcoPort);
  if (!middlebox) {
    std::fprintf(stderr, "future: %s\n", middlebox.error().c_str());
    return 2;
  }
  int status = 0;
  asio::io_context io;
  auto work = asio::make_work_guard(io);
  std::jthread loop([&] { io.run(); });
  try {
    agent::Agent agent(io.get_executor());
    call(agent, *middlebox, argv[2], argv[3]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "future: %s\n", failure.what());
    status = 1;
  }
  work.reset();
  return status;
}
