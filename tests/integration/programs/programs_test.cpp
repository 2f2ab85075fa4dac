// The programs as their users start them: exit codes, output, signals, and the two together.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "tests/support/figures.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/port.hpp"
#include "tests/support/program.hpp"
#include "tests/support/raw_agent.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/sanitizer.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;

std::string connect_to(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

/// The load generator, with these words after --connect. It may be late: that is no failure here.
Words loadgen_words(std::uint16_t port, const Words& more) {
  return Words{"simco-loadgen", "--connect", connect_to(port), "--abort-lag", "600",
               "--timeout",     "600"} +
         more;
}

TEST(Programs, LoadGeneratorSaysOnATerminalWhatIsLeft) {
  Program middlebox({"simco-middlebox", "--port", "0"});
  const auto words = loadgen_words(middlebox.listening_port(), {"--count", "20", "--rate", "40"});
  std::string line = SIMCO_BIN_DIR "/";
  for (const auto& word : words) line += word + " ";
  Program terminal({"/usr/bin/script", "--quiet", "--return", "--command", line, "/dev/null"});
  EXPECT_EQ(terminal.wait(), 0) << terminal.out();
  EXPECT_TRUE(terminal.out().contains("20 transactions at 40/s: about 1 s\r\n"));
  EXPECT_TRUE(terminal.out().contains(" s left \r")) << terminal.out();
  EXPECT_EQ(run(words, 0).err, "");
}

TEST(Programs, MiddleboxServesAndStopsOnSignals) {
  for (const int number : {SIGTERM, SIGINT}) {
    Program middlebox({"simco-middlebox", "--port", "0"});
    const auto port = middlebox.listening_port();
    RawAgent agent(port);
    agent.open();
    middlebox.signal(number);
    const auto last = agent.receive();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->body, Body{AstNotification{}});
    EXPECT_TRUE(agent.at_end());
    agent.socket().close();
    EXPECT_EQ(middlebox.wait(), 0);
    // The null backend says once that it enforces nothing.
    EXPECT_EQ(count_of(middlebox.err(), "rules are not enforced"), 1U);
  }
}

// A log collector that hangs, or ends, is no reason to stand still.
TEST(Programs, TheMiddleboxDoesNotWaitForStandardError) {
  const Folder folder("stderr");
  const auto path = folder.file("pipe");
  Pipe pipe(path);
  Program middlebox(
      {"/bin/sh", "-c",
       "exec " SIMCO_BIN_DIR "/simco-middlebox --port 0 --audit-rate 1000000 2>" + path});
  const auto text = pipe.read_until("listening on tcp 127.0.0.1:");
  const auto at = text.find("127.0.0.1:") + 10;
  RawAgent agent(static_cast<std::uint16_t>(std::stoi(text.substr(at))));
  agent.open();
  pipe.fill();
  // A line of the log for each change: more than the pipe and the queue hold.
  for (std::uint32_t i = 0; i < 4000; ++i) {
    ASSERT_TRUE(std::holds_alternative<PerReply>(
        agent.ask(pinhole(static_cast<std::uint16_t>(1 + i), kLongLifetimeS))));
  }
  // Lost lines are reported as soon as standard error is read again, and something is logged.
  std::atomic<bool> heard = false;
  std::thread reader([&] {
    pipe.read_until("log lines were lost");
    heard = true;
  });
  for (std::uint16_t port = 8000; !heard && port < 60'000; ++port) {
    EXPECT_TRUE(std::holds_alternative<PerReply>(agent.ask(pinhole(port, kLongLifetimeS))));
  }
  reader.join();
  pipe.close();
  ASSERT_TRUE(std::holds_alternative<PerReply>(agent.ask(pinhole(60'001, kLongLifetimeS))));
  ASSERT_TRUE(std::holds_alternative<PerReply>(agent.ask(pinhole(60'003, kLongLifetimeS))));
  middlebox.signal(SIGTERM);
  EXPECT_EQ(middlebox.wait(), 0);
}

// A middlebox that has lost its rules refuses a request, if its own look has not ended the session
// before.
void expect_no_promise(RawAgent& agent, const Body& request) {
  agent.send(Message{TransactionId{100}, request});
  for (auto message = agent.receive(); message; message = agent.receive()) {
    if (message->body == Body{AstNotification{}}) return agent.socket().close();
    EXPECT_EQ(message->body, (Body{NegativeReply{NegativeReplyCode::kNoResources, {}}}));
  }
  ADD_FAILURE() << "the session ended without AST";
}

// The other middlebox would not keep the promises of a middlebox that has lost its rules.
TEST(Programs, TheMiddleboxEndsWhenAnotherHasTakenItsRulesOver) {
  const RedisServer redis;
  const Words words{"simco-middlebox", "--port", "0", "--state", redis.address()};
  Program first(words);
  RawAgent agent(first.listening_port());
  agent.open();
  const auto pid = std::get<PerReply>(agent.ask(pinhole(5004, kLongLifetimeS))).pid;
  Program second(words);
  RawAgent other(second.listening_port());
  other.open();
  // Not even an end is acknowledged: the rule is the other's now, and lives on there.
  expect_no_promise(agent, PlcRequest{pid, Lifetime{0}});
  EXPECT_EQ(first.wait(), 3) << first.err();
  EXPECT_TRUE(std::holds_alternative<PesReply>(other.ask(PrsRequest{pid})));
}

TEST(Programs, PortInUseIsOneLineAndExit1) {
  Program first({"simco-middlebox", "--port", "0", "--log-level", "info"});
  const auto port = std::to_string(first.listening_port());
  EXPECT_EQ(
      run({"simco-middlebox", "--port", port, "--log-level", "error"}, 1).err,
      "simco-middlebox: cannot listen on tcp 127.0.0.1:" + port + ": Address already in use\n");
  EXPECT_EQ(count_of(run({"simco-echo", "--port", port}, 1).err, "\n"), 1U);
}

// Whoever has made its Redis a replica: started again, it stands by, and serves when its turn
// comes.
TEST(Programs, TheMiddleboxWhoseRedisBecomesAReplicaStandsByWhenItIsStartedAgain) {
  const RedisServer redis;
  const RedisServer other;
  const auto port = free_port();
  const auto tell = [&](const std::string& master) {
    run({"/usr/bin/env", "sh", "-c",
         "redis-cli -p " + std::to_string(redis.port()) + " replicaof " + master},
        0);
  };
  const Words words{"simco-middlebox", "--port", std::to_string(port), "--state", redis.address()};
  Program first(words);
  RawAgent agent(first.listening_port());
  agent.open();
  tell("127.0.0.1 " + std::to_string(other.port()));
  expect_no_promise(agent, pinhole(5004, kLongLifetimeS));
  EXPECT_EQ(first.wait(), 1) << first.err();

  Program second(words);
  ASSERT_TRUE(second.says("standing by"));
  // Its address is not free yet when its turn comes.
  Program holder({"simco-echo", "--port", std::to_string(port)});
  holder.listening_port();
  tell("no one");
  ASSERT_TRUE(second.says("cannot serve agents yet"));
  holder.signal(SIGKILL);
  RawAgent next(second.listening_port());
  next.open();
  EXPECT_TRUE(std::holds_alternative<PerReply>(next.ask(pinhole(5004, kLongLifetimeS))));
}

TEST(Programs, LoadgenAgainstMiddlebox) {
  Program middlebox({"simco-middlebox", "--port", "0"});
  const auto port = middlebox.listening_port();
  const Folder folder("samples");
  const auto samples = folder.file("samples");
  const auto loadgen = run(
      loadgen_words(port, {"--rate", "2000", "--count", "1000", "--warmup", "100", "--connections",
                           "3", "--rules", "60", "--json", "-", "--samples", samples}),
      0);
  const auto results = nlohmann::json::parse(loadgen.out);
  EXPECT_EQ(results["version"], 1);
  EXPECT_EQ(results["parameters"]["connections"], 3);
  EXPECT_EQ(results["transactions"]["offered"], 1000);
  EXPECT_EQ(results["transactions"]["sent"], 1000);
  EXPECT_EQ(results["transactions"]["completed"], 1000);
  EXPECT_EQ(results["transactions"]["refused"], 0);
  EXPECT_EQ(results["transactions"]["timed_out"], 0);
  EXPECT_EQ(results["aborted"], false);
  EXPECT_TRUE(results["abort_reason"].is_null());
  const auto& response = results["response_time_ms"];
  for (const char* figure :
       {"mean", "ci95", "stddev", "min", "p50", "p90", "p95", "p99", "p999", "max"}) {
    EXPECT_TRUE(response[figure].is_number()) << figure;
    EXPECT_TRUE(results["service_time_ms"][figure].is_number()) << figure;
  }
  EXPECT_LE(response["min"], response["p50"]);
  EXPECT_LE(response["p50"], response["p99"]);
  EXPECT_LE(response["p99"], response["max"]);
  EXPECT_LE(results["service_time_ms"]["mean"], response["mean"]);
  for (const char* figure : {"p50", "p99", "max"}) {
    EXPECT_TRUE(results["generator_lag_ms"][figure].is_number());
  }
  EXPECT_TRUE(results["transport_stats"].contains("rto_ms"));
  // 1100 rules were made and all but 60 deleted again.
  EXPECT_EQ(results["rules_deleted"], 1100 - 60);
  EXPECT_EQ(count_of(contents_of(samples), ",completed\n"), 1000U);
}

TEST(Programs, LoadgenHoldsUntilItIsTold) {
  Program middlebox({"simco-middlebox", "--port", "0"});
  const auto port = middlebox.listening_port();
  const Folder folder("gate");
  const auto gate = folder.file("gate");
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  const int writer = ::open(gate.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  Program loadgen(loadgen_words(port, {"--rate", "1000", "--count", "10", "--hold", "--json", "-"}),
                  gate);
  ASSERT_EQ(loadgen.line_with("connected"), "connected");
  std::this_thread::sleep_for(500ms);  // ten would take 10 ms
  EXPECT_TRUE(loadgen.running());
  EXPECT_EQ(loadgen.out(), "");
  ASSERT_EQ(::write(writer, "go\n", 3), 3);
  EXPECT_EQ(loadgen.wait(), 0) << loadgen.err();
  EXPECT_EQ(nlohmann::json::parse(loadgen.out())["transactions"]["completed"], 10);
  // The end of the input is as good as a line.
  Program other(loadgen_words(port, {"--count", "10", "--hold"}), "/dev/null");
  EXPECT_EQ(other.wait(), 0) << other.err();
  ::close(writer);
}

TEST(Programs, LoadgenTellsOfRefusals) {
  Program middlebox({"simco-middlebox", "--port", "0", "--max-rules", "10"});
  const auto port = middlebox.listening_port();
  const auto out = run(loadgen_words(port, {"--rate", "1000", "--count", "30"}), 1).out;
  EXPECT_TRUE(out.contains("10 completed, 20 refused")) << out;
  EXPECT_TRUE(out.contains("no resources available for this transaction (0x0342)"));
}

TEST(Programs, LoadgenWithoutMiddleboxIsOneLineAndExit1) {
  const auto loadgen = run({"simco-loadgen", "--connect", "127.0.0.1:1", "--count", "1"}, 1);
  EXPECT_EQ(loadgen.err,
            "simco-loadgen: 127.0.0.1:1 over tcp: cannot open a session: Connection refused\n");
  EXPECT_EQ(loadgen.out, "");
}

/// Waits until the load generator has had a reply: it deletes a rule when it has made the next.
void wait_for_load(RawAgent& witness) {
  for (;;) {
    const auto heard = witness.receive();
    ASSERT_TRUE(heard);
    const auto* event = std::get_if<AreNotification>(&heard->body);
    if (event != nullptr && event->lifetime.seconds == 0) return;
  }
}

TEST(Programs, LoadgenNoticesBeforeTheRunThatItCannotWriteResults) {
  for (const char* option : {"--json", "--samples"}) {
    EXPECT_EQ(
        run({"simco-loadgen", "--connect", "127.0.0.1:1", option, "/nonexistent/file"}, 1).err,
        "simco-loadgen: cannot write /nonexistent/file: No such file or directory\n");
  }
}

TEST(Programs, LoadgenReportsWhatItHasAtAnEarlyEnd) {
  for (const bool dies : {true, false}) {
    Program middlebox({"simco-middlebox", "--port", "0"});
    const auto port = middlebox.listening_port();
    RawAgent witness(port);
    witness.open();
    Program loadgen(
        loadgen_words(port, {"--rate", "500", "--duration", "600", "--rules", "1", "--json", "-"}));
    wait_for_load(witness);
    dies ? middlebox.signal(SIGKILL) : loadgen.signal(SIGINT);
    ASSERT_EQ(loadgen.wait(), 1);
    const auto results = nlohmann::json::parse(loadgen.out());
    EXPECT_EQ(results["aborted"], true);
    const auto reason = results["abort_reason"].get<std::string>();
    EXPECT_TRUE(reason.contains(dies ? "connection lost" : "interrupted")) << reason;
    EXPECT_GT(results["transactions"]["completed"], 0);
  }
}

// A peer that accepts and never reads: a message that cannot be handed over in time ends the run.
TEST(Programs, LoadgenStopsWhenTheTransportTakesNothing) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor(io);
  acceptor.open(boost::asio::ip::tcp::v4());
  acceptor.set_option(boost::asio::socket_base::receive_buffer_size(4096));
  acceptor.bind({boost::asio::ip::address_v4::loopback(), 0});
  acceptor.listen();
  Program loadgen({"simco-loadgen", "--connect", connect_to(acceptor.local_endpoint().port()),
                   "--workload", "echo", "--rate", "200000", "--duration", "30", "--abort-lag",
                   "0.3", "--json", "-"});
  auto peer = acceptor.accept();
  ASSERT_EQ(loadgen.wait(), 1);
  const auto results = nlohmann::json::parse(loadgen.out());
  EXPECT_EQ(results["aborted"], true);
  EXPECT_TRUE(results["abort_reason"].get<std::string>().contains("handed to the transport"));
  EXPECT_LT(results["transactions"]["sent"], results["transactions"]["offered"]);
}

// A peer that reads and never answers: transactions time out, each on its own.
TEST(Programs, LoadgenCountsTimeouts) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  Program loadgen({"simco-loadgen", "--connect", connect_to(acceptor.local_endpoint().port()),
                   "--workload", "echo", "--rate", "100", "--count", "20", "--timeout", "0.3",
                   "--json", "-"});
  auto peer = acceptor.accept();
  ASSERT_EQ(loadgen.wait(), 1);
  const auto results = nlohmann::json::parse(loadgen.out());
  EXPECT_EQ(results["transactions"]["sent"], 20);
  EXPECT_EQ(results["transactions"]["timed_out"], 20);
  EXPECT_EQ(results["aborted"], false);
}

TEST(Programs, Echo) {
  Program echo({"simco-echo", "--port", "0", "--listen", "127.0.0.1"});
  const auto port = echo.listening_port();
  EXPECT_TRUE(run(loadgen_words(port, {"--workload", "echo", "--rate", "5000", "--count", "2000",
                                       "--connections", "2"}),
                  0)
                  .out.contains("2000 completed"));
  echo.signal(SIGTERM);
  EXPECT_EQ(echo.wait(), 0);
}

std::size_t resident_octets(pid_t pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST(Programs, TenThousandConnectionsThatSendNothing) {
  constexpr std::size_t kCount = 10'000;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < kCount + 100) {
    GTEST_SKIP() << "this machine: a process may have only " << limit.rlim_max << " descriptors";
  }
  Program middlebox({"simco-middlebox", "--port", "0", "--message-timeout", "8"});
  const auto port = middlebox.listening_port();
  RawAgent agent(port);
  agent.open();
  const auto before = resident_octets(middlebox.pid());
  boost::asio::io_context io;
  std::vector<boost::asio::ip::tcp::socket> silent;
  silent.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    silent.emplace_back(io);
    silent.back().connect({boost::asio::ip::address_v4::loopback(), port});
  }
  EXPECT_TRUE(std::holds_alternative<PrlReply>(agent.ask(PrlRequest{})));
  // Sanitizers keep much beside the program's own memory.
  constexpr std::size_t kOctetsEach = kSanitized ? 40'000 : 4096;
  EXPECT_LT(resident_octets(middlebox.pid()), before + kCount * kOctetsEach);
  // No session in time: each is closed, or reset if that was long ago, and the agent does not
  // notice.
  std::byte nothing{};
  for (auto& socket : {&silent.front(), &silent.back()}) {
    const timeval wait{kPatience.count(), 0};
    ::setsockopt(socket->native_handle(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    const auto got = ::recv(socket->native_handle(), &nothing, 1, 0);
    EXPECT_TRUE(got == 0 || (got < 0 && errno == ECONNRESET)) << got << " " << errno;
  }
  EXPECT_TRUE(std::holds_alternative<PrlReply>(agent.ask(PrlRequest{})));
  silent.clear();
  middlebox.signal(SIGTERM);
  EXPECT_EQ(middlebox.wait(), 0);
  // At most a line per connection.
  EXPECT_LE(count_of(middlebox.err(), "\n"), kCount + 10);
}

}  // namespace
}  // namespace simco::test
