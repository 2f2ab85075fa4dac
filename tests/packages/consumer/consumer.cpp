// Asks the middlebox at 127.0.0.1:PORT for a pinhole and ends it again.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <cstdlib>

#include "agent/agent.hpp"

#if defined(BOOST_ASIO_NO_DEPRECATED) || defined(BOOST_ASIO_DISABLE_VISIBILITY)
#error "the library decides about its user's Boost"
#endif

namespace {

boost::asio::awaitable<void> call(simco::agent::Agent& agent, std::uint16_t port) {
  using boost::asio::use_awaitable;
  co_await agent.open({"127.0.0.1", port}, use_awaitable);
  const auto pinhole =
      simco::PerRequest::udp("10.0.0.5:5004", "192.0.2.7:6000", std::chrono::seconds(60));
  const auto rule = co_await agent.enable(pinhole, use_awaitable);
  std::printf("rule %u\n", rule.pid.value);
  co_await agent.remove(rule.pid, use_awaitable);
}

}  // namespace

int main(int, char** argv) {
  boost::asio::io_context io;
  simco::agent::Agent agent(io.get_executor());
  auto done = boost::asio::co_spawn(io, call(agent, static_cast<std::uint16_t>(std::atoi(argv[1]))),
                                    boost::asio::use_future);
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready && io.run_one() != 0) {
  }
  done.get();
}
