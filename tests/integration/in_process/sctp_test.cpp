// Agents and the middlebox over SCTP, all on one event loop. The laboratory's guest runs this with
// the kernel's stack, too.
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <set>

#include "agent/agent.hpp"
#include "middlebox/backend/null_backend.hpp"
#include "middlebox/serve/server.hpp"
#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/connector.hpp"
#include "simco/net/error.hpp"
#include "simco/net/sctp/kernel.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sctp_stacks.hpp"
#include "tests/support/udp_relay.hpp"

namespace simco {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;
using net::SctpStack;
using test::pinhole;
using test::RecordingHandler;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

class SctpTest : public testing::TestWithParam<test::SctpStacks> {
 protected:
  SctpTest() {
    options_.listen.transports = {net::Transport::kSctp};
    options_.listen.port = 0;
    options_.listen.settings.sctp = test::middlebox_options(GetParam().middlebox);
    transport_ = {net::Transport::kSctp,
                  {test::agent_options(GetParam(), options_.listen.settings.sctp)},
                  {}};
  }
  ~SctpTest() override {
    for (auto& raw : raws_) raw->channel->detach();
    raws_.clear();
    agents_.clear();
    loop_.watch(20ms);
  }

  void serve() {
    server_ = std::make_unique<middlebox::Server>(loop_.io(), options_, backend_);
    server_->start();
    port_ = server_->ports().back();
  }
  net::HostPort target() const { return {"127.0.0.1", port_}; }
  agent::Agent& make_agent() {
    agent::Agent::Options options;
    options.transport = transport_;
    options.timeout = test::kPatience;
    agents_.push_back(std::make_unique<agent::Agent>(loop_.io().get_executor(), options));
    return *agents_.back();
  }
  /// Runs a coroutine to its end.
  void run(asio::awaitable<void> work) {
    bool done = false;
    asio::co_spawn(loop_.io(), std::move(work), [&](std::exception_ptr failure) {
      done = true;
      if (failure) std::rethrow_exception(failure);
    });
    ASSERT_TRUE(loop_.run_until([&] { return done; }));
  }

  /// An association without an agent on it.
  struct Raw {
    std::shared_ptr<net::MessageChannel> channel;
    RecordingHandler handler;
  };
  Raw* connect_raw() {
    raws_.push_back(std::make_unique<Raw>());
    auto& raw = *raws_.back();
    std::optional<error_code> result;
    net::connect(loop_.io().get_executor(), transport_, target(), test::kPatience, read_buffer_,
                 [&](const error_code& error, std::shared_ptr<net::MessageChannel> channel) {
                   result = error;
                   raw.channel = std::move(channel);
                   if (raw.channel) raw.channel->start(raw.handler, {kMessageFramer});
                 });
    EXPECT_TRUE(loop_.run_until([&] { return result.has_value(); }));
    if (result && !*result) return &raw;
    ADD_FAILURE() << (result ? result->message() : "no answer");
    raws_.pop_back();
    return nullptr;
  }
  void send(Raw& raw, std::span<const std::byte> octets) {
    const auto room = raw.channel->allocate(octets.size(), {});
    ASSERT_FALSE(room.empty());
    std::ranges::copy(octets, room.begin());
    raw.channel->flush();
  }
  bool has(Raw& raw, std::size_t messages) {
    return loop_.run_until([&] { return raw.handler.messages.size() >= messages; });
  }
  /// Sends a request and waits for the next message.
  std::optional<Message> ask(Raw& raw, std::uint32_t tid, const Body& body) {
    const auto before = raw.handler.messages.size();
    simco::send(*raw.channel, {tid}, body);
    raw.channel->flush();
    if (!has(raw, before + 1)) return std::nullopt;
    const auto message = decode(raw.handler.messages[before]);
    return message ? std::optional(*message) : std::nullopt;
  }

  test::Loop loop_;
  net::ReadBuffer read_buffer_{};
  backend::NullBackend backend_;
  middlebox::ServerOptions options_;
  net::TransportOptions transport_;
  std::unique_ptr<middlebox::Server> server_;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<agent::Agent>> agents_;
  std::vector<std::unique_ptr<Raw>> raws_;
};

// doc/rfc4540.md, readings 23 and 24.
TEST_P(SctpTest, EveryMessageIsOnTheStreamOfItsTid) {
  options_.listen.settings.sctp.streams = 5;
  serve();
  auto* owner = connect_raw();
  auto* other = connect_raw();
  ASSERT_TRUE(owner != nullptr && other != nullptr);
  ASSERT_EQ(owner->channel->inbound_streams(), 5);
  for (auto* raw : {owner, other}) ASSERT_TRUE(ask(*raw, 2, SeRequest{}));
  std::map<std::uint32_t, std::uint32_t> created_by;  // PID -> TID
  for (const std::uint32_t tid : {7U, 8U, 19U, 1004U, 4'000'000'000U}) {
    const auto reply =
        ask(*owner, tid, pinhole(static_cast<std::uint16_t>(tid), test::kLongLifetimeS));
    ASSERT_TRUE(reply && std::holds_alternative<PerReply>(reply->body));
    EXPECT_EQ(reply->tid.value, tid);
    created_by[std::get<PerReply>(reply->body).pid.value] = tid;
  }
  std::uint32_t tid = 5'000;
  for (const auto& [pid, creator] : created_by) {
    const auto mine = tid - tid % 5 + creator % 5;
    ASSERT_TRUE(ask(*owner, mine, PlcRequest{{pid}, {77}}));
    ASSERT_TRUE(ask(*owner, mine + 5, PlcRequest{{pid}, {0}}));
    tid += 20;
  }
  ASSERT_TRUE(has(*other, 1 + 2 * created_by.size()));
  std::set<std::uint32_t> tids;
  for (std::size_t i = 1; i < other->handler.messages.size(); ++i) {
    const auto message = decode(other->handler.messages[i]);
    const auto& event = std::get<AreNotification>(message->body);
    EXPECT_EQ(message->tid.value % 5, created_by.at(event.pid.value) % 5);
    EXPECT_TRUE(tids.insert(message->tid.value).second);
  }
  for (auto* raw : {owner, other}) {
    for (std::size_t i = 0; i < raw->handler.messages.size(); ++i) {
      const auto message = decode(raw->handler.messages[i]);
      EXPECT_EQ(raw->handler.deliveries[i].stream.value, message->tid.value % 5);
      EXPECT_FALSE(raw->handler.deliveries[i].unordered);
    }
  }
}

TEST_P(SctpTest, Section6) {
  serve();
  const auto types_after = [&](bool open, const char* hex, bool closes) {
    auto* raw = connect_raw();
    if (raw == nullptr) return std::string("no connection");
    if (open) ask(*raw, 2, SeRequest{});
    const std::size_t before = open ? 1 : 0;
    send(*raw, test::from_hex(hex));
    if (closes) {
      loop_.run_until([&] { return raw->handler.closed != 0; });
    } else {
      has(*raw, before + 1);
      ask(*raw, 3, PrlRequest{});  // it still answers
    }
    std::string text;
    for (std::size_t i = before; i < raw->handler.messages.size(); ++i) {
      text += test::to_hex(raw->handler.messages[i]).substr(0, 4) + " ";
    }
    return text + (raw->handler.closed != 0 ? "closed" : "open");
  };
  // The header does not fit the user message: BFM, and AST where there is a session.
  const std::string bfm = test::to_hex(test::encoded({{0}, BfmNotification{}})).substr(0, 4);
  const std::string ast = test::to_hex(test::encoded({{0}, AstNotification{}})).substr(0, 4);
  for (const char* hex : {"01", "01220004 00000001", "01220000 00000001 00", "01220001 00000001 00",
                          "0122fff9 00000001"}) {
    EXPECT_EQ(types_after(false, hex, true), bfm + " closed") << hex;
    EXPECT_EQ(types_after(true, hex, true), bfm + " " + ast + " closed") << hex;
  }
  EXPECT_EQ(types_after(false, "07220000 00000001", true), "0310 closed");
  EXPECT_EQ(types_after(true, "07220000 00000001", false), "0310 0222 open");
  EXPECT_EQ(types_after(false, "01220000 00000001", true), "0311 closed");
  EXPECT_EQ(types_after(true, "01160000 00000001", false), "0311 0222 open");
  EXPECT_EQ(types_after(true, "01150000 00000001", false), "0312 0222 open");
}

TEST_P(SctpTest, TcpAndSctpAtOnce) {
  options_.listen.transports = {net::Transport::kTcp, net::Transport::kSctp};
  serve();
  ASSERT_EQ(server_->ports().size(), 2U);
  auto& over_sctp = make_agent();
  transport_.transport = net::Transport::kTcp;
  auto& over_tcp = make_agent();
  run([&]() -> asio::awaitable<void> {
    co_await over_sctp.open(target(), asio::use_awaitable);
    co_await over_tcp.open({"127.0.0.1", server_->ports().front()}, asio::use_awaitable);
    const auto rule = co_await over_sctp.enable(pinhole(1), asio::use_awaitable);
    co_await over_tcp.remove(rule.pid, asio::use_awaitable);
    const auto event = co_await over_sctp.next_event(asio::use_awaitable);
    EXPECT_EQ(event.pid, rule.pid);
    EXPECT_EQ(event.lifetime, Lifetime{0});
  }());
  bool stopped = false;
  server_->stop([&] { stopped = true; });
  EXPECT_TRUE(loop_.run_until([&] { return stopped; }));
}

INSTANTIATE_TEST_SUITE_P(Userland, SctpTest, test::userland_stacks(), test::name_of_stacks);
INSTANTIATE_TEST_SUITE_P(Kernel, SctpTest, test::kernel_stacks(), test::name_of_stacks);

struct UserlandMiddlebox {
  UserlandMiddlebox() { server.start(); }
  static middlebox::ServerOptions over_sctp() {
    middlebox::ServerOptions options;
    options.listen.transports = {net::Transport::kSctp};
    options.listen.port = 0;
    options.listen.settings.sctp = test::middlebox_options(SctpStack::kUserland);
    return options;
  }
  test::Loop loop;
  backend::NullBackend backend;
  middlebox::ServerOptions options = over_sctp();
  middlebox::Server server{loop.io(), options, backend};
};

/// A network that reorders and loses packets between agents and a middlebox (userland SCTP).
class SctpOrderTest : public testing::TestWithParam<std::uint32_t> {};

// Whatever order streams deliver in, no message about a rule overtakes an earlier one about it:
// requests about it are sent without waiting, and each finds the rule as the one before left it.
// The same goes for what a second agent is told about it.
TEST_P(SctpOrderTest, NoMessageAboutARuleOvertakesAnother) {
  UserlandMiddlebox box;
  auto& [loop, backend, options, server] = box;
  test::UdpRelay relay(loop.io(), options.listen.settings.sctp.udp_encaps, {4ms, 0.03, GetParam()});
  agent::Agent::Options agent_options;
  agent_options.transport = {net::Transport::kSctp, options.listen.settings, {}};
  agent_options.transport.settings.sctp.udp_encaps = relay.port();
  agent::Agent agent(loop.io().get_executor(), agent_options);
  agent::Agent watcher(loop.io().get_executor(), agent_options);

  constexpr std::uint16_t kRules = 40;
  constexpr std::uint32_t kChanges = 8;
  // So far apart that what is left of one is more than the one before it.
  const auto lifetime = [](std::uint32_t change) { return Lifetime{1000 + 300 * change}; };
  std::map<std::uint32_t, std::vector<std::uint32_t>> seen;  // PID -> lifetimes, by the watcher
  std::size_t events = 0;
  std::size_t answers = 0;
  bool done = false;
  const auto watch = [&]() -> asio::awaitable<void> {
    for (;;) {
      const auto [error, event] = co_await watcher.next_event(kToken);
      if (error) co_return;
      seen[event.pid.value].push_back(event.lifetime.seconds);
      ++events;
    }
  };
  asio::co_spawn(
      loop.io(),
      [&]() -> asio::awaitable<void> {
        co_await watcher.open({"127.0.0.1", server.ports().front()}, asio::use_awaitable);
        asio::co_spawn(loop.io(), watch(), [](std::exception_ptr) {});
        co_await agent.open({"127.0.0.1", server.ports().front()}, asio::use_awaitable);
        std::vector<PolicyRuleId> pids;
        for (std::uint16_t i = 1; i <= kRules; ++i) {
          pids.push_back((co_await agent.enable(pinhole(i, 600), asio::use_awaitable)).pid);
        }
        for (const auto pid : pids) {
          for (std::uint32_t i = 1; i <= kChanges; ++i) {
            agent.change_lifetime(pid, lifetime(i), [&, i](error_code error, Lifetime got) {
              EXPECT_FALSE(error) << error.message();
              EXPECT_EQ(got, lifetime(i));
              ++answers;
            });
          }
          agent.status(pid, [&](error_code error, const agent::RuleStatus& status) {
            EXPECT_FALSE(error) << error.message();
            EXPECT_LE(status.lifetime, lifetime(kChanges));
            EXPECT_GT(status.lifetime, lifetime(kChanges - 1));
            ++answers;
          });
          agent.remove(pid, [&](error_code error) {
            EXPECT_FALSE(error) << error.message();
            ++answers;
          });
          agent.status(pid, [&](error_code error, const agent::RuleStatus&) {
            EXPECT_EQ(error, agent::make_reply_error(NegativeReplyCode::kNoSuchRule));
            ++answers;
          });
        }
        done = true;
      },
      [](std::exception_ptr failure) {
        if (failure) std::rethrow_exception(failure);
      });
  ASSERT_TRUE(loop.run_until([&] {
    return done && answers == kRules * (kChanges + 3) && events >= kRules * (kChanges + 2);
  }));
  EXPECT_GT(relay.lost(), 0U);
  for (const auto& [pid, lifetimes] : seen) {
    ASSERT_EQ(lifetimes.size(), kChanges + 2) << "rule " << pid;
    EXPECT_EQ(lifetimes.front(), 600U);
    for (std::uint32_t i = 1; i <= kChanges; ++i) EXPECT_EQ(lifetimes[i], lifetime(i).seconds);
    EXPECT_EQ(lifetimes.back(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Userland, SctpOrderTest, testing::Values(1, 2, 3));

// usrsctp is one per process: a second loop is told so, and gets it when the first is gone.
TEST(UserlandSctp, OneEventLoopPerProcess) {
  const auto udp_port = test::free_port();
  net::ReadBuffer buffer{};
  const auto attempt = [&](asio::io_context& io, const net::TransportOptions& transport) {
    std::optional<error_code> result;
    net::connect(io.get_executor(), transport, {"127.0.0.1", 7626}, test::kPatience, buffer,
                 [&](const error_code& error, const auto&) { result = error; });
    io.restart();
    io.run();
    return *result;
  };
  net::TransportOptions transport{net::Transport::kSctp, {}, {}};
  transport.settings.sctp.stack = SctpStack::kUserland;
  transport.settings.sctp.udp_encaps = udp_port;
  asio::io_context second;
  {
    asio::io_context first;
    EXPECT_EQ(attempt(first, transport), asio::error::connection_refused);
    EXPECT_EQ(attempt(second, transport), error_code(net::NetError::kOtherEventLoop));
  }
  EXPECT_EQ(attempt(second, transport), asio::error::connection_refused);
}

}  // namespace
}  // namespace simco
