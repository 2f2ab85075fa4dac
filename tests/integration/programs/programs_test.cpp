// The programs as their users start them: exit codes, output, signals, and the two together.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/support/figures.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/program.hpp"
#include "tests/support/raw_agent.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/sanitizer.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;
using test::Program;
using test::RawAgent;

std::string connect_to(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

/// The load generator, with these words after --connect. It may be late: that is no failure here.
std::vector<std::string> loadgen_words(std::uint16_t port, const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      "simco-loadgen", "--connect", connect_to(port), "--abort-lag", "600", "--timeout", "600"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Programs, LoadGeneratorSaysOnATerminalWhatIsLeft) {
  Program middlebox({"simco-middlebox", "--port", "0"});
  const auto words = loadgen_words(middlebox.listening_port(), {"--count", "20", "--rate", "40"});
  std::string line = SIMCO_BIN_DIR "/";
  for (const auto& word : words) line += word + " ";
  Program terminal({"/usr/bin/script", "--quiet", "--return", "--command", line, "/dev/null"});
  EXPECT_EQ(terminal.wait(), 0) << terminal.out();
  EXPECT_NE(terminal.out().find("20 transactions at 40/s: about 1 s\r\n"), std::string::npos);
  EXPECT_NE(terminal.out().find(" s left \r"), std::string::npos) << terminal.out();
  Program redirected(words);
  EXPECT_EQ(redirected.wait(), 0) << redirected.err();
  EXPECT_EQ(redirected.err(), "");
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
    const auto text = middlebox.err();
    const auto said = text.find("rules are not enforced");
    ASSERT_NE(said, std::string::npos);
    EXPECT_EQ(text.find("rules are not enforced", said + 1), std::string::npos);
  }
}

TEST(Programs, SayTheirVersion) {
  for (const std::string name :
       {"simco-middlebox", "simcoctl", "simco-ng", "simco-loadgen", "simco-echo"}) {
    Program program({name, "--version"});
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(program.out(), name + " " SIMCO_VERSION "\n");
    EXPECT_EQ(program.err(), "");
  }
  // Also where a command would need more.
  Program command({"simcoctl", "enable", "--version"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(command.out(), "simcoctl " SIMCO_VERSION "\n");
}

// A log collector that hangs, or ends, is no reason to stand still.
TEST(Programs, TheMiddleboxDoesNotWaitForStandardError) {
  const test::Folder folder("stderr");
  const std::string path = folder.path + "/pipe";
  test::Pipe pipe(path);
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
        agent.ask(test::pinhole(static_cast<std::uint16_t>(1 + i), test::kLongLifetimeS))));
  }
  // Lost lines are reported as soon as standard error is read again, and something is logged.
  std::atomic<bool> heard = false;
  std::thread reader([&] {
    pipe.read_until("log lines were lost");
    heard = true;
  });
  for (std::uint16_t port = 8000; !heard && port < 60'000; ++port) {
    EXPECT_TRUE(
        std::holds_alternative<PerReply>(agent.ask(test::pinhole(port, test::kLongLifetimeS))));
  }
  reader.join();
  pipe.close();
  ASSERT_TRUE(
      std::holds_alternative<PerReply>(agent.ask(test::pinhole(60'001, test::kLongLifetimeS))));
  ASSERT_TRUE(
      std::holds_alternative<PerReply>(agent.ask(test::pinhole(60'003, test::kLongLifetimeS))));
  middlebox.signal(SIGTERM);
  EXPECT_EQ(middlebox.wait(), 0);
}

// The other middlebox would not keep the promises of a middlebox that has lost its rules.
TEST(Programs, TheMiddleboxEndsWhenAnotherHasTakenItsRulesOver) {
  const test::RedisServer redis;
  const std::vector<std::string> words{"simco-middlebox", "--port", "0", "--state",
                                       redis.address()};
  Program first(words);
  RawAgent agent(first.listening_port());
  agent.open();
  const auto pid = std::get<PerReply>(agent.ask(test::pinhole(5004, test::kLongLifetimeS))).pid;
  Program second(words);
  RawAgent other(second.listening_port());
  other.open();
  // Not even an end is acknowledged: the rule is the other's now, and lives on there.
  EXPECT_EQ(agent.ask(PlcRequest{pid, Lifetime{0}}),
            (Body{NegativeReply{NegativeReplyCode::kNoResources, {}}}));
  const auto last = agent.receive();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->body, Body{AstNotification{}});
  agent.socket().close();
  EXPECT_EQ(first.wait(), 3) << first.err();
  EXPECT_TRUE(std::holds_alternative<PesReply>(other.ask(PrsRequest{pid})));
}

TEST(Programs, PortInUseIsOneLineAndExit1) {
  Program first({"simco-middlebox", "--port", "0", "--log-level", "info"});
  const auto port = std::to_string(first.listening_port());
  Program second({"simco-middlebox", "--port", port, "--log-level", "error"});
  EXPECT_EQ(second.wait(), 1);
  EXPECT_EQ(second.err(), "simco-middlebox: cannot listen on tcp 127.0.0.1:" + port +
                              ": Address already in use\n");
  Program echo({"simco-echo", "--port", port});
  EXPECT_EQ(echo.wait(), 1);
  EXPECT_EQ(std::ranges::count(echo.err(), '\n'), 1);
}

TEST(Programs, LoadgenAgainstMiddlebox) {
  Program middlebox({"simco-middlebox", "--port", "0"});
  const auto port = middlebox.listening_port();
  const std::string samples = testing::TempDir() + "simco-samples-" + std::to_string(::getpid());
  Program loadgen(
      loadgen_words(port, {"--rate", "2000", "--count", "1000", "--warmup", "100", "--connections",
                           "3", "--rules", "60", "--json", "-", "--samples", samples}));
  ASSERT_EQ(loadgen.wait(), 0) << loadgen.err();
  const auto json = nlohmann::json::parse(loadgen.out());
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["parameters"]["connections"], 3);
  EXPECT_EQ(json["transactions"]["offered"], 1000);
  EXPECT_EQ(json["transactions"]["sent"], 1000);
  EXPECT_EQ(json["transactions"]["completed"], 1000);
  EXPECT_EQ(json["transactions"]["refused"], 0);
  EXPECT_EQ(json["transactions"]["timed_out"], 0);
  EXPECT_EQ(json["aborted"], false);
  EXPECT_TRUE(json["abort_reason"].is_null());
  const auto& response = json["response_time_ms"];
  for (const char* figure :
       {"mean", "ci95", "stddev", "min", "p50", "p90", "p95", "p99", "p999", "max"}) {
    EXPECT_TRUE(response[figure].is_number()) << figure;
    EXPECT_TRUE(json["service_time_ms"][figure].is_number()) << figure;
  }
  EXPECT_LE(response["min"], response["p50"]);
  EXPECT_LE(response["p50"], response["p99"]);
  EXPECT_LE(response["p99"], response["max"]);
  EXPECT_LE(json["service_time_ms"]["mean"], response["mean"]);
  for (const char* figure : {"p50", "p99", "max"}) {
    EXPECT_TRUE(json["generator_lag_ms"][figure].is_number());
  }
  EXPECT_TRUE(json["transport_stats"].contains("rto_ms"));
  // 1100 rules were made and all but 60 deleted again.
  EXPECT_EQ(json["rules_deleted"], 1100 - 60);
  std::ifstream lines(samples);
  std::string line;
  std::size_t count = 0;
  while (std::getline(lines, line)) count += line.ends_with(",completed") ? 1 : 0;
  EXPECT_EQ(count, 1000U);
  ::unlink(samples.c_str());
}

TEST(Programs, LoadgenHoldsUntilItIsTold) {
  Program middlebox({"simco-middlebox", "--port", "0"});
  const auto port = middlebox.listening_port();
  const std::string gate = testing::TempDir() + "simco-gate-" + std::to_string(::getpid());
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
  ::unlink(gate.c_str());
}

TEST(Programs, LoadgenTellsOfRefusals) {
  Program middlebox({"simco-middlebox", "--port", "0", "--max-rules", "10"});
  const auto port = middlebox.listening_port();
  Program loadgen(loadgen_words(port, {"--rate", "1000", "--count", "30"}));
  EXPECT_EQ(loadgen.wait(), 1);
  EXPECT_NE(loadgen.out().find("10 completed, 20 refused"), std::string::npos) << loadgen.out();
  EXPECT_NE(loadgen.out().find("no resources available for this transaction (0x0342)"),
            std::string::npos);
}

TEST(Programs, LoadgenWithoutMiddleboxIsOneLineAndExit1) {
  Program loadgen({"simco-loadgen", "--connect", "127.0.0.1:1", "--count", "1"});
  EXPECT_EQ(loadgen.wait(), 1);
  EXPECT_EQ(loadgen.err(),
            "simco-loadgen: 127.0.0.1:1 over tcp: cannot open a session: Connection refused\n");
  EXPECT_TRUE(loadgen.out().empty()) << loadgen.out();
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
    Program loadgen({"simco-loadgen", "--connect", "127.0.0.1:1", option, "/nonexistent/file"});
    EXPECT_EQ(loadgen.wait(), 1);
    EXPECT_EQ(loadgen.err(),
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
    const auto json = nlohmann::json::parse(loadgen.out());
    EXPECT_EQ(json["aborted"], true);
    const auto reason = json["abort_reason"].get<std::string>();
    EXPECT_NE(reason.find(dies ? "connection lost" : "interrupted"), std::string::npos) << reason;
    EXPECT_GT(json["transactions"]["completed"], 0);
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
  const auto json = nlohmann::json::parse(loadgen.out());
  EXPECT_EQ(json["aborted"], true);
  EXPECT_NE(json["abort_reason"].get<std::string>().find("handed to the transport"),
            std::string::npos);
  EXPECT_LT(json["transactions"]["sent"], json["transactions"]["offered"]);
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
  const auto json = nlohmann::json::parse(loadgen.out());
  EXPECT_EQ(json["transactions"]["sent"], 20);
  EXPECT_EQ(json["transactions"]["timed_out"], 20);
  EXPECT_EQ(json["aborted"], false);
}

TEST(Programs, Echo) {
  Program echo({"simco-echo", "--port", "0", "--listen", "127.0.0.1"});
  const auto port = echo.listening_port();
  Program loadgen(loadgen_words(
      port, {"--workload", "echo", "--rate", "5000", "--count", "2000", "--connections", "2"}));
  EXPECT_EQ(loadgen.wait(), 0) << loadgen.out();
  EXPECT_NE(loadgen.out().find("2000 completed"), std::string::npos);
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
  constexpr std::size_t kOctetsEach = test::kSanitized ? 40'000 : 4096;
  EXPECT_LT(resident_octets(middlebox.pid()), before + kCount * kOctetsEach);
  // No session in time: each is closed, or reset if that was long ago, and the agent does not
  // notice.
  std::byte nothing{};
  for (auto& socket : {&silent.front(), &silent.back()}) {
    const timeval wait{test::kPatience.count(), 0};
    ::setsockopt(socket->native_handle(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    const auto got = ::recv(socket->native_handle(), &nothing, 1, 0);
    EXPECT_TRUE(got == 0 || (got < 0 && errno == ECONNRESET)) << got << " " << errno;
  }
  EXPECT_TRUE(std::holds_alternative<PrlReply>(agent.ask(PrlRequest{})));
  silent.clear();
  middlebox.signal(SIGTERM);
  EXPECT_EQ(middlebox.wait(), 0);
  // At most a line per connection.
  EXPECT_LE(static_cast<std::size_t>(std::ranges::count(middlebox.err(), '\n')), kCount + 10);
}

}  // namespace
}  // namespace simco
