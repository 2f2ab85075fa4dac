// Pinholes that renew themselves, agents that reconnect, and requests that wait for their turn,
// against the real middlebox.
#include "agent/pinhole.hpp"

#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "middlebox/store/memory_store.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/port.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::agent {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using boost::system::error_code;
using test::ServerThread;

constexpr auto kAsTuple = asio::as_tuple(use_awaitable);

net::HostPort at(std::uint16_t port) { return {"127.0.0.1", port}; }

PerRequest long_lived(std::uint16_t port) {
  return PerRequest::udp("10.0.0.5:" + std::to_string(port), "192.0.2.7:6000",
                         std::chrono::seconds(test::kLongLifetimeS));
}

/// Runs a coroutine to its end. Returns false if it does not get there.
template <class Body>
bool completes(Body body) {
  asio::io_context io;
  bool finished = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        co_await body(io);
        finished = true;
      },
      [](std::exception_ptr failure) {
        if (failure) std::rethrow_exception(failure);
      });
  test::run_to_the_end(io);
  return finished;
}

/// Returns whether a rule with this lifetime is renewed before it ends.
bool renewed(std::chrono::seconds lifetime) {
  ServerThread server;
  Lifetime told;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    Agent owner(io.get_executor());
    Agent other(io.get_executor());
    co_await owner.open(at(server.port()), use_awaitable);
    co_await other.open(at(server.port()), use_awaitable);
    auto media = co_await Pinhole::open(
        owner, PerRequest::udp("10.0.0.5:5004", "192.0.2.7:6000", lifetime), use_awaitable);
    const auto made = co_await other.next_event(use_awaitable);
    EXPECT_EQ(made.pid, media.rule().pid);
    told = (co_await other.next_event(use_awaitable)).lifetime;  // of the renewal, or of the end
    co_await media.close(use_awaitable);
    co_await owner.close(use_awaitable);
    co_await other.close(use_awaitable);
  }));
  EXPECT_TRUE(told.seconds == 0 || told.seconds == lifetime.count());
  return told.seconds != 0;
}

TEST(Pinhole, IsRenewed) {
  auto lifetime = 2s;  // a machine that stands still for half of it gets more
  while (!renewed(lifetime) && lifetime < test::kPatience) lifetime *= 4;
  EXPECT_LT(lifetime, test::kPatience);
}

TEST(Pinhole, EndsWithItsObject) {
  ServerThread server;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    Agent agent(io.get_executor());
    co_await agent.open(at(server.port()), use_awaitable);
    {
      auto media = co_await Pinhole::open(agent, long_lived(5004), use_awaitable);
      Pinhole moved = std::move(media);
      EXPECT_EQ((co_await agent.list(use_awaitable)).size(), 1U);
      moved = co_await Pinhole::open(agent, long_lived(5006), use_awaitable);
      EXPECT_EQ((co_await agent.list(use_awaitable)).size(), 1U);
    }
    EXPECT_TRUE((co_await agent.list(use_awaitable)).empty());
    auto handed_over = co_await Pinhole::open(agent, long_lived(5008), use_awaitable);
    const auto pid = handed_over.release().pid;
    const auto list = co_await agent.list(use_awaitable);
    EXPECT_EQ(list, std::vector{pid});
    co_await agent.close(use_awaitable);
  }));
  EXPECT_EQ(server.rules(), 1U);
}

TEST(Pinhole, FromAReservation) {
  ServerThread server;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    Agent agent(io.get_executor());
    co_await agent.open(at(server.port()), use_awaitable);
    const auto reserved = co_await agent.reserve(PrrRequest::udp(2, 60s), use_awaitable);
    auto media = co_await Pinhole::open(
        agent, PeaRequest::udp(reserved.pid, "10.0.0.5:5004/2", "192.0.2.7:6000/2", 60s),
        use_awaitable);
    EXPECT_EQ(media.rule().pid, reserved.pid);
    co_await media.close(use_awaitable);
    co_await agent.close(use_awaitable);
  }));
  EXPECT_EQ(server.rules(), 0U);
}

TEST(Pinhole, TellsWhenItIsLost) {
  ServerThread server;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    Agent owner(io.get_executor());
    Agent other(io.get_executor());
    co_await owner.open(at(server.port()), use_awaitable);
    co_await other.open(at(server.port()), use_awaitable);
    auto media = co_await Pinhole::open(owner, long_lived(5004), use_awaitable);
    co_await other.remove(media.rule().pid, use_awaitable);
    EXPECT_EQ(co_await media.lost(use_awaitable), RuleLoss::kEnded);
    EXPECT_EQ(co_await media.lost(use_awaitable), RuleLoss::kEnded);  // and says so again
    co_await media.close(use_awaitable);
    const auto [closed, loss] = co_await media.lost(kAsTuple);
    EXPECT_EQ(closed, AgentError::kTerminated);
    const auto [refused, none] = co_await Pinhole::open(
        owner, PeaRequest::udp(PolicyRuleId{77}, "10.0.0.5:1", "192.0.2.7:1", 60s), kAsTuple);
    EXPECT_EQ(refused, make_reply_error(NegativeReplyCode::kNoSuchRule));
    co_await owner.close(use_awaitable);
    co_await other.close(use_awaitable);
  }));
}

/// A middlebox with durable rules that ends and comes back on the same port.
struct RestartingBox {
  RestartingBox() { start(); }
  void start() {
    store.emplace(memory);
    server.emplace(middlebox::ServerOptions{}, backend, &*store, nullptr, port);
  }
  void crash() {
    server.reset();
    store.reset();
  }
  std::uint16_t port = test::free_port();
  store::Memory memory;
  std::optional<store::MemoryStore> store;
  backend::NullBackend backend;
  std::optional<ServerThread> server;
};

/// Options of an agent that reconnects, and its reports.
struct Changes {
  Agent::Options options() {
    Agent::Options result;
    result.reconnect.emplace();
    result.reconnect->delay_first = 5ms;
    result.reconnect->on_change = [this](const error_code& change) { seen.push_back(change); };
    return result;
  }
  std::vector<error_code> seen;
};

TEST(Reconnect, PinholesAreFoundAgainAndLossesReported) {
  RestartingBox box;
  Changes changes;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    Agent agent(io.get_executor(), changes.options());
    co_await agent.open(at(box.port), use_awaitable);
    auto lost = co_await Pinhole::open(agent, long_lived(5004), use_awaitable);
    auto media = co_await Pinhole::open(agent, long_lived(5006), use_awaitable);
    box.crash();
    box.memory.entries.erase(lost.rule().pid);
    const auto [in_flight, list] = co_await agent.list(kAsTuple);  // before the loss is noticed
    EXPECT_EQ(in_flight, AgentError::kConnectionLost);
    box.start();
    EXPECT_EQ(co_await lost.lost(use_awaitable), RuleLoss::kEnded);
    const auto found = co_await agent.list(use_awaitable);
    EXPECT_EQ(found, std::vector{media.rule().pid});
    lost = co_await Pinhole::open(agent, long_lived(5004), use_awaitable);
    const auto both = co_await agent.list(use_awaitable);
    EXPECT_EQ(both.size(), 2U);
    co_await lost.close(use_awaitable);
    co_await media.close(use_awaitable);
    co_await agent.close(use_awaitable);
  }));
  ASSERT_GE(changes.seen.size(), 2U);
  EXPECT_EQ(changes.seen.front(), AgentError::kConnectionLost);
  EXPECT_EQ(changes.seen.back(), error_code());
  EXPECT_EQ(box.server->rules(), 0U);
}

TEST(Reconnect, RequestsWaitForTheSession) {
  RestartingBox box;
  Changes changes;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    Agent agent(io.get_executor(), changes.options());
    co_await agent.open(at(box.port), use_awaitable);
    box.crash();
    co_await agent.list(kAsTuple);
    error_code enabled = AgentError::kTimeout;
    agent.enable(long_lived(5004), [&](error_code error, EnabledRule) { enabled = error; });
    box.start();
    const auto list = co_await agent.list(use_awaitable);  // after it, in the order of the calls
    EXPECT_EQ(enabled, error_code());
    EXPECT_EQ(list.size(), 1U);
    co_await agent.close(use_awaitable);
  }));
}

TEST(Reconnect, EndsWithClose) {
  RestartingBox box;
  Changes changes;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    Agent agent(io.get_executor(), changes.options());
    co_await agent.open(at(box.port), use_awaitable);
    box.crash();
    co_await agent.list(kAsTuple);
    error_code waited;
    agent.list([&](error_code error, std::vector<PolicyRuleId>) { waited = error; });
    co_await agent.close(use_awaitable);
    const auto [error, none] = co_await agent.list(kAsTuple);
    EXPECT_EQ(error, AgentError::kNotOpen);
    EXPECT_EQ(waited, AgentError::kTerminated);
  }));
}

TEST(Reconnect, NotAfterTheFirstOpenOrClose) {
  Changes changes;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    Agent agent(io.get_executor(), changes.options());
    const auto [refused, none] = co_await agent.open(at(test::free_port()), kAsTuple);
    EXPECT_EQ(refused, asio::error::connection_refused);
    ServerThread server;
    co_await agent.open(at(server.port()), use_awaitable);
    co_await agent.close(use_awaitable);
    const auto [error, list] = co_await agent.list(kAsTuple);
    EXPECT_EQ(error, AgentError::kNotOpen);
  }));
  EXPECT_TRUE(changes.seen.empty());
}

// More than any queue on the way holds, and the middlebox takes none of them for a while.
TEST(Agent, RequestsWaitForTheirTurn) {
  constexpr std::uint16_t kMany = 30'000;
  ServerThread server;
  std::size_t done = 0;
  EXPECT_TRUE(completes([&](asio::io_context& io) -> asio::awaitable<void> {
    AgentOptions options;
    options.timeout = test::kPatience;
    Agent agent(io.get_executor(), options);
    co_await agent.open(at(server.port()), use_awaitable);
    // So long that its window is full longer than a peer may be silent.
    std::jthread busy([&] {
      server.ask([](auto&) {
        std::this_thread::sleep_for(kAgentSilenceMax + 2s);
        return 0;
      });
    });
    for (std::uint16_t i = 1; i <= kMany; ++i) {
      agent.enable(long_lived(i), [&](error_code error, EnabledRule) {
        EXPECT_FALSE(error);
        ++done;
      });
    }
    co_await agent.close(use_awaitable);
    busy.join();
    EXPECT_EQ(done, kMany);
  }));
  EXPECT_EQ(server.rules(), kMany);
}

}  // namespace
}  // namespace simco::agent
