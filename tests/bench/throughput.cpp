// How many PER transactions a second one session, or many with a request each, get through
// simco-middlebox (null backend), against a bare epoll server that reads the same octets and writes
// replies of the same size without doing any work, and against redis-server's SET. The same client
// drives the first two; every run starts a fresh server, servers are pinned to one core and clients
// to the other, and the three take turns, so that a disturbance of the machine affects all alike.
// Prints medians and ratios.
//
//   bench-throughput path/to/simco-middlebox [rounds]
#include "tests/bench/bare_server.hpp"
#include "tests/bench/session_driver.hpp"

namespace {

using namespace simco::bench;

constexpr std::uint16_t kRedisPort = 17'712;

// --- The bare server -----------------------------------------------------------------------------

[[noreturn]] void bare_server() {
  serve_bare([](std::uint32_t) {});
}

/// On one session `in_flight` requests, or on as many sessions one each.
double drive(const std::vector<int>& sessions, std::uint32_t count, std::uint32_t in_flight) {
  return sessions.size() == 1 ? simco::bench::drive(sessions.front(), count, in_flight)
                              : drive_each(sessions, count);
}

/// Each from an address of its own: agents that share a name are notified of each other's rules.
std::vector<int> connect(std::uint32_t sessions) {
  std::vector<int> result;
  for (std::uint32_t i = 0; i < sessions; ++i) result.push_back(connect_to(kPort, i));
  return result;
}

double run_bare(std::uint32_t sessions, std::uint32_t count, std::uint32_t window) {
  const pid_t server = start(0, {}, bare_server);
  const auto connections = connect(sessions);
  const double rate = drive(connections, count, window);
  for (const int fd : connections) ::close(fd);
  stop(server);
  return rate;
}

double run_middlebox(const std::string& program, std::uint32_t sessions, std::uint32_t count,
                     std::uint32_t window) {
  const pid_t server = start(0, {program, "--port", std::to_string(kPort), "--max-rules",
                                 "20000000", "--log-level", "error"});
  const auto connections = connect(sessions);
  for (const int fd : connections) open_session(fd);
  const double rate = drive(connections, count, window);
  check_last_rule();
  for (const int fd : connections) ::close(fd);
  stop(server);
  return rate;
}

/// Requests a second of redis-benchmark, or 0 where it is not installed.
double run_redis(std::uint32_t sessions, std::uint32_t count, std::uint32_t window) {
  const pid_t server = start(0, {"redis-server", "--port", std::to_string(kRedisPort), "--save", "",
                                 "--appendonly", "no", "--bind", "127.0.0.1"});
  ::usleep(300'000);
  int status = 0;
  if (::waitpid(server, &status, WNOHANG) == server) return 0;
  ::close(connect_to(kRedisPort));
  const std::string command = "exec redis-benchmark -h 127.0.0.1 -p " + std::to_string(kRedisPort) +
                              " -t set -c " + std::to_string(sessions) + " -n " +
                              std::to_string(count) + " -P " + std::to_string(window) +
                              " --csv 2>/dev/null";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  double rate = 0;
  std::array<char, 512> line{};
  while (pipe != nullptr && std::fgets(line.data(), line.size(), pipe) != nullptr) {
    if (std::strncmp(line.data(), "\"SET\"", 5) == 0) rate = std::strtod(line.data() + 7, nullptr);
  }
  if (pipe != nullptr) ::pclose(pipe);
  stop(server);
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench-throughput path/to/simco-middlebox [rounds]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5;
  ::signal(SIGPIPE, SIG_IGN);
  pin(1);
  struct Case {
    std::uint32_t sessions;
    std::uint32_t window;  ///< of each
    std::uint32_t count;
    double goal;
  };
  std::printf("%8s %6s %14s %14s %14s %8s %6s %10s\n", "sessions", "window", "bare epoll/s",
              "middlebox/s", "redis SET/s", "ratio", "goal", "vs redis");
  for (const Case& c :
       {Case{1, 1, 30'000, 0.9}, Case{1, 16, 300'000, 0.5}, Case{1, 256, 1'000'000, 0.15},
        Case{64, 1, 200'000, 0.9}, Case{1'000, 1, 200'000, 0.9}}) {
    std::vector<double> bare, middlebox, redis, ratio, against_redis;
    for (int round = 0; round < rounds; ++round) {
      bare.push_back(run_bare(c.sessions, c.count, c.window));
      middlebox.push_back(run_middlebox(argv[1], c.sessions, c.count, c.window));
      redis.push_back(run_redis(c.sessions, c.count, c.window));
      ratio.push_back(middlebox.back() / bare.back());
      if (redis.back() > 0) against_redis.push_back(middlebox.back() / redis.back());
    }
    std::printf("%8u %6u %14.0f %14.0f %14.0f %8.3f %6.2f", c.sessions, c.window, median(bare),
                median(middlebox), median(redis), median(ratio), c.goal);
    if (against_redis.empty()) {
      std::printf(" %10s\n", "no redis");
    } else {
      std::printf(" %10.2f\n", median(against_redis));
    }
    std::fflush(stdout);
  }
}
