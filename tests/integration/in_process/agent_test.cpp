// The client library against the real middlebox: with callbacks, futures and coroutines.
#include "agent/agent.hpp"

#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <set>
#include <thread>

#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::agent {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace std::string_literals;
using boost::system::error_code;
using test::pinhole;
using test::ServerThread;

net::HostPort target(const ServerThread& server) { return {"127.0.0.1", server.port()}; }

TEST(Agent, Coroutines) {
  ServerThread server;
  asio::io_context io;
  bool finished = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        Agent agent(io.get_executor());
        const auto capabilities = co_await agent.open(target(server), asio::use_awaitable);
        EXPECT_TRUE(capabilities.packet_filter);
        EXPECT_EQ(capabilities.lifetime_max_s, 3600U);
        const auto rule = co_await agent.enable(pinhole(5004), asio::use_awaitable);
        EXPECT_EQ(rule.lifetime, Lifetime{60});
        EXPECT_EQ(rule.outside.location, Location::kOutside);
        const auto longer =
            co_await agent.change_lifetime(rule.pid, Lifetime{90}, asio::use_awaitable);
        EXPECT_EQ(longer, Lifetime{90});
        const auto status = co_await agent.status(rule.pid, asio::use_awaitable);
        EXPECT_EQ(status.kind, RuleStatus::Kind::kEnabled);
        EXPECT_EQ(status.internal, pinhole(5004).internal);
        EXPECT_EQ(status.owner, "anonymous@127.0.0.1");
        const auto list = co_await agent.list(asio::use_awaitable);
        EXPECT_EQ(list, std::vector{rule.pid});
        co_await agent.remove(rule.pid, asio::use_awaitable);
        const auto [error, gone] =
            co_await agent.status(rule.pid, asio::as_tuple(asio::use_awaitable));
        EXPECT_EQ(error, make_reply_error(NegativeReplyCode::kNoSuchRule));
        EXPECT_EQ(error.message(), "specified policy rule does not exist (0x0343)");
        co_await agent.close(asio::use_awaitable);
        finished = true;
      },
      asio::detached);
  test::run_to_the_end(io);
  EXPECT_TRUE(finished);
}

// 3: a session with each of several middleboxes.
TEST(Agent, TwoMiddleboxesAtATime) {
  ServerThread near;
  ServerThread far;
  asio::io_context io;
  int finished = 0;
  const auto use = [&](const ServerThread& server, std::uint16_t rules) -> asio::awaitable<void> {
    Agent agent(io.get_executor());
    co_await agent.open(target(server), asio::use_awaitable);
    for (std::uint16_t port = 0; port < rules; ++port)
      co_await agent.enable(pinhole(5000 + 2 * port), asio::use_awaitable);
    EXPECT_EQ((co_await agent.list(asio::use_awaitable)).size(), rules);
    ++finished;
  };
  asio::co_spawn(io, use(near, 3), asio::detached);
  asio::co_spawn(io, use(far, 5), asio::detached);
  test::run_to_the_end(io);
  EXPECT_EQ(finished, 2);
}

TEST(Agent, FuturesFromAnotherThread) {
  ServerThread server;
  asio::io_context io;
  auto work = asio::make_work_guard(io);
  std::thread loop([&] { io.run(); });
  {
    Agent agent(io.get_executor());
    agent.open(target(server), asio::use_future).get();
    std::vector<std::future<EnabledRule>> rules;
    for (std::uint16_t i = 1; i <= 500; ++i) {
      rules.push_back(agent.enable(pinhole(i, test::kLongLifetimeS), asio::use_future));
    }
    std::set<std::uint32_t> pids;
    for (auto& rule : rules) EXPECT_TRUE(pids.insert(rule.get().pid.value).second);
    try {
      agent.remove({999'999}, asio::use_future).get();
      FAIL();
    } catch (const boost::system::system_error& refused) {
      EXPECT_EQ(negative_reply(refused.code()), NegativeReplyCode::kNoSuchRule);
    }
    agent.close(asio::use_future).get();
  }
  work.reset();
  loop.join();
}

TEST(Agent, CallbacksManyInFlight) {
  ServerThread server;
  asio::io_context io;
  Agent agent(io.get_executor());
  int done = 0;
  agent.open(target(server), [&](error_code error, Capabilities) {
    ASSERT_FALSE(error);
    for (std::uint16_t i = 1; i <= 1000; ++i) {
      agent.enable(pinhole(i, test::kLongLifetimeS), [&](error_code failed, EnabledRule rule) {
        EXPECT_FALSE(failed);
        agent.remove(rule.pid, [&](error_code not_removed) {
          EXPECT_FALSE(not_removed);
          if (++done == 1000) agent.close([](error_code) {});
        });
      });
    }
  });
  test::run_to_the_end(io);
  EXPECT_EQ(done, 1000);
  EXPECT_EQ(server.rules(), 0U);
}

TEST(Agent, EverythingThatWaitsLearnsOfTheEndOfTheSession) {
  ServerThread server;
  asio::io_context io;
  Agent agent(io.get_executor());
  error_code at_event;
  bool opened = false;
  agent.open(target(server), [&](error_code error, Capabilities) {
    ASSERT_FALSE(error);
    opened = true;
    agent.next_event([&](error_code ended, RuleEvent) { at_event = ended; });
  });
  while (!opened && io.run_one() != 0) {
  }
  std::thread stopper([&] { server.stop(); });
  test::run_to_the_end(io);
  stopper.join();
  EXPECT_EQ(at_event, AgentError::kMiddleboxTerminated);
  agent.next_event([&](error_code ended, RuleEvent) { at_event = ended; });
  at_event.clear();
  test::run_to_the_end(io);
  EXPECT_EQ(at_event, AgentError::kMiddleboxTerminated) << "also for who asks afterwards";
  error_code afterwards;
  agent.list([&](error_code error, std::vector<PolicyRuleId>) { afterwards = error; });
  test::run_to_the_end(io);
  EXPECT_EQ(afterwards, AgentError::kNotOpen);
}

TEST(Agent, OpensAgainAfterALoss) {
  asio::io_context io;
  auto server = std::make_unique<ServerThread>();
  Agent agent(io.get_executor());
  int openings = 0;
  error_code refused;
  error_code twice;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        co_await agent.open(target(*server), asio::use_awaitable);
        ++openings;
        const auto [error, none] =
            co_await agent.open(target(*server), asio::as_tuple(asio::use_awaitable));
        twice = error;
        server.reset();  // the connection breaks
        const auto [lost, event] = co_await agent.next_event(asio::as_tuple(asio::use_awaitable));
        EXPECT_EQ(lost, AgentError::kConnectionLost);
        server = std::make_unique<ServerThread>();
        co_await agent.open(target(*server), asio::use_awaitable);
        ++openings;
        co_await agent.close(asio::use_awaitable);
        const auto [nobody, nothing] =
            co_await agent.open({"127.0.0.1", 1}, asio::as_tuple(asio::use_awaitable));
        refused = nobody;
      },
      asio::detached);
  test::run_to_the_end(io);
  EXPECT_EQ(twice, AgentError::kAlreadyOpen);
  EXPECT_EQ(openings, 2);
  EXPECT_EQ(refused, asio::error::connection_refused);
  // What exceptions say is for users, too.
  EXPECT_EQ(boost::system::system_error(refused).what(), "Connection refused [system:111]"s);
}

// A listener that accepts and never answers.
TEST(Agent, TimesOut) {
  error_code result = asio::error::timed_out;
  // On a machine so slow that connecting takes that long, the agent must be more patient.
  for (auto timeout = 100ms; result == asio::error::timed_out && timeout < test::kPatience;
       timeout *= 2) {
    asio::io_context io;
    asio::ip::tcp::acceptor mute(io, {asio::ip::address_v4::loopback(), 0});
    Agent agent(io.get_executor(), Agent::Options{.timeout = timeout});
    agent.open({"127.0.0.1", mute.local_endpoint().port()},
               [&](error_code error, Capabilities) { result = error; });
    test::run_to_the_end(io);
  }
  EXPECT_EQ(result, AgentError::kTimeout);
}

/// A middlebox that answers the SE, ignores the first request, and answers the second before it.
class Forgetful {
 public:
  explicit Forgetful(asio::io_context& io)
      : acceptor_(io, {asio::ip::address_v4::loopback(), 0}), thread_([this] { serve(); }) {}
  ~Forgetful() { thread_.join(); }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void serve() {
    auto socket = acceptor_.accept();
    const auto receive = [&](std::size_t size) {
      test::Octets octets(size);
      asio::read(socket, asio::buffer(octets.data(), octets.size()));
      return read_header(std::span<const std::byte>(octets).first<8>()).tid;
    };
    const auto send = [&](const Message& message) {
      const auto octets = test::encoded(message);
      asio::write(socket, asio::buffer(octets.data(), octets.size()));
    };
    try {
      send({receive(16), SeReply{}});
      const auto late = receive(8);
      send({receive(8), PrlReply{}});
      send({late, PrlReply{}});
      receive(8);
    } catch (const boost::system::system_error&) {
      // The agent had not the patience for us.
    }
  }

  asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

/// Opens a session and ends it.
error_code earlier_session(asio::io_context& io, Agent& agent) {
  ServerThread server;
  error_code result;
  agent.open(target(server), [&](error_code opened, Capabilities) {
    result = opened;
    if (!opened) agent.close([&](error_code closed) { result = closed; });
  });
  test::run_to_the_end(io);
  return result;
}

TEST(Agent, ClosingGivesUpOpening) {
  asio::io_context io;
  asio::ip::tcp::acceptor mute(io, {asio::ip::address_v4::loopback(), 0});
  Agent agent(io.get_executor(), Agent::Options{.timeout = 2 * test::kPatience});
  error_code opened, closed = AgentError::kNotOpen;
  agent.open({"127.0.0.1", mute.local_endpoint().port()},
             [&](error_code error, Capabilities) { opened = error; });
  agent.close([&](error_code error) { closed = error; });
  test::run_to_the_end(io);
  EXPECT_EQ(opened, AgentError::kTerminated);
  EXPECT_FALSE(closed);
}

/// What becomes of open(), two lists and close(), in the agent's first session or a later one.
std::vector<error_code> two_lists(std::chrono::milliseconds timeout, bool first_session) {
  asio::io_context io;
  std::optional<Agent> agent(std::in_place, io.get_executor(), Agent::Options{.timeout = timeout});
  std::vector<error_code> results;
  if (!first_session && earlier_session(io, *agent)) return results;
  Forgetful middlebox(io);
  agent->open({"127.0.0.1", middlebox.port()}, [&](error_code opened, Capabilities) {
    results.push_back(opened);
    if (opened) return;
    agent->list([&](error_code first, std::vector<PolicyRuleId>) {
      results.push_back(first);
      agent->list([&](error_code second, std::vector<PolicyRuleId>) {
        results.push_back(second);
        agent->close([&](error_code third) { results.push_back(third); });
      });
    });
  });
  test::run_to_the_end(io);
  agent.reset();
  test::run_to_the_end(io);  // the middlebox sees that it is gone
  return results;
}

class AgentSessions : public testing::TestWithParam<bool> {};

TEST_P(AgentSessions, AReplyThatDoesNotComeTimesOutAndTheSessionGoesOn) {
  // Where what is answered takes as long as what is not, everything gets more time.
  auto timeout = 300ms;
  auto results = two_lists(timeout, GetParam());
  while ((results.size() < 3 || results[2]) && timeout < test::kPatience) {
    results = two_lists(timeout *= 4, GetParam());
  }
  ASSERT_EQ(results.size(), 4U);
  EXPECT_FALSE(results[0]);
  EXPECT_EQ(results[1], AgentError::kTimeout);
  EXPECT_FALSE(results[2]);
  EXPECT_TRUE(results[3]);  // no ST reply: the connection just ended
}

INSTANTIATE_TEST_SUITE_P(FirstAndLater, AgentSessions, testing::Values(true, false));

TEST(Agent, DestroyedInTheMiddleEndsItsTransactions) {
  ServerThread server;
  asio::io_context io;
  error_code result;
  auto agent = std::make_unique<Agent>(io.get_executor());
  agent->open(target(server), [&](error_code error, Capabilities) {
    ASSERT_FALSE(error);
    agent->next_event([&](error_code ended, RuleEvent) { result = ended; });
    asio::post(io, [&] { agent.reset(); });
  });
  test::run_to_the_end(io);
  EXPECT_EQ(result, AgentError::kConnectionLost);
}

}  // namespace
}  // namespace simco::agent
