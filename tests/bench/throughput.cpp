// How many PER transactions a second one session gets through simco-middlebox (null backend),
// against a bare epoll server that reads the same octets and writes replies of the same size
// without doing any work, and against redis-server's SET. The same client drives the first two;
// every run starts a fresh server, servers are pinned to one core and clients to the other, and the
// three take turns, so that what the machine does to one it does to all. Prints medians and ratios.
//
//   bench-throughput path/to/simco-middlebox [rounds]
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "simco/wire/codec.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint16_t kPort = 17'711;
constexpr std::uint16_t kRedisPort = 17'712;
constexpr std::size_t kRequestSize = 56;  // PER request, IPv4, without group
constexpr std::size_t kReplySize = 64;    // its positive reply
constexpr std::size_t kBufferSize = 256 * 1024;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);  // without a second core it changes nothing
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// --- The bare server -----------------------------------------------------------------------------

[[noreturn]] void bare_server() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto address = loopback(kPort);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    die("bind");
  ::listen(listener, 16);
  const int connection = ::accept(listener, nullptr, nullptr);
  ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int loop = ::epoll_create1(0);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  ::epoll_ctl(loop, EPOLL_CTL_ADD, connection, &wanted);
  static std::array<char, kBufferSize> in;
  static std::array<char, 2 * kBufferSize> out;
  std::size_t left_over = 0;
  for (;;) {
    epoll_event event{};
    if (::epoll_wait(loop, &event, 1, -1) < 1) continue;
    const auto got = ::recv(connection, in.data(), 64 * 1024, MSG_DONTWAIT);
    if (got == 0) std::exit(0);
    if (got < 0) continue;
    left_over += static_cast<std::size_t>(got);
    const std::size_t replies = left_over / kRequestSize;
    left_over %= kRequestSize;
    if (replies == 0) continue;
    if (::send(connection, out.data(), replies * kReplySize, MSG_NOSIGNAL) < 0) std::exit(0);
  }
}

// --- Processes -----------------------------------------------------------------------------------

pid_t start(int core, const std::vector<std::string>& command) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin(core);
  if (command.empty()) bare_server();
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, 1);
  ::dup2(null, 2);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  std::_Exit(127);
}

void stop(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

int connect_to(std::uint16_t port) {
  const auto address = loopback(port);
  for (int attempt = 0; attempt < 500; ++attempt) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return fd;
    }
    ::close(fd);
    ::usleep(10'000);
  }
  die("connect");
}

// --- The client ----------------------------------------------------------------------------------

void receive_exactly(int fd, std::size_t size) {
  std::array<char, 4096> buffer;
  while (size > 0) {
    const auto got = ::recv(fd, buffer.data(), std::min(size, buffer.size()), 0);
    if (got <= 0) die("recv");
    size -= static_cast<std::size_t>(got);
  }
}

std::size_t encode(simco::TransactionId tid, const simco::Body& body, std::byte* to) {
  simco::ByteWriter out(std::span(to, kBufferSize));
  simco::encode(tid, body, out);
  return out.written();
}

void open_session(int fd) {
  std::vector<std::byte> buffer(kBufferSize);
  const auto size = encode({0}, simco::SeRequest{}, buffer.data());
  if (::send(fd, buffer.data(), size, 0) < 0) die("send");
  receive_exactly(fd, simco::encoded_size(simco::SeReply{}));
}

/// `count` PERs, each for another pinhole, `window` of them in flight; answers how many a second.
double drive(int fd, std::uint32_t count, std::uint32_t window) {
  simco::PerRequest request;
  request.parameters.direction = simco::Direction::kBidirectional;
  for (auto* tuple : {&request.internal, &request.external}) {
    tuple->protocol = simco::kProtocolUdp;
    tuple->port = 16384;
    tuple->port_range = 2;
  }
  request.external.location = simco::Location::kExternal;
  request.lifetime = {120};
  std::vector<std::byte> out(kBufferSize);
  for (std::uint32_t i = 0; i < window; ++i) encode({0}, request, out.data() + i * kRequestSize);
  // The request's TID and the internal address change from one to the next, the rest stays.
  constexpr std::size_t kTidAt = 4;
  constexpr std::size_t kAddressAt = 28;
  std::vector<char> in(kBufferSize);
  std::uint32_t sent = 0;
  const auto send_some = [&](std::uint32_t n) {
    n = std::min(n, count - sent);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t number = htonl(++sent);
      std::memcpy(out.data() + i * kRequestSize + kTidAt, &number, sizeof number);
      std::memcpy(out.data() + i * kRequestSize + kAddressAt, &number, sizeof number);
    }
    if (n != 0 && ::send(fd, out.data(), n * kRequestSize, MSG_NOSIGNAL) < 0) die("send");
  };
  const auto begin = Clock::now();
  send_some(window);
  std::uint64_t octets = 0;
  std::uint32_t answered = 0;
  while (answered < count) {
    const auto got = ::recv(fd, in.data(), in.size(), 0);
    if (got <= 0) die("recv");
    octets += static_cast<std::uint64_t>(got);
    const auto now_answered = static_cast<std::uint32_t>(octets / kReplySize);
    send_some(now_answered - answered);
    answered = now_answered;
  }
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  return count / elapsed.count();
}

/// After a run: the middlebox must really have made `count` rules.
void check_rules(int fd, std::uint32_t count) {
  std::vector<std::byte> buffer(kBufferSize);
  const auto size = encode({0xFFFF'FFFF}, simco::PrsRequest{{count}}, buffer.data());
  if (::send(fd, buffer.data(), size, 0) < 0) die("send");
  std::array<std::byte, simco::kHeaderSize> header{};
  if (::recv(fd, header.data(), header.size(), MSG_WAITALL) != std::ssize(header)) die("recv");
  if (simco::read_header(header).type != simco::PesReply::kType) {
    std::fprintf(stderr, "rule %u is not there: the middlebox refused requests\n", count);
    std::exit(1);
  }
}

double run_bare(std::uint32_t count, std::uint32_t window) {
  const pid_t server = start(0, {});
  const int fd = connect_to(kPort);
  const double rate = drive(fd, count, window);
  ::close(fd);
  stop(server);
  return rate;
}

double run_middlebox(const std::string& program, std::uint32_t count, std::uint32_t window) {
  const pid_t server = start(0, {program, "--port", std::to_string(kPort), "--max-rules",
                                 "20000000", "--log-level", "error"});
  const int fd = connect_to(kPort);
  open_session(fd);
  const double rate = drive(fd, count, window);
  check_rules(fd, count);
  ::close(fd);
  stop(server);
  return rate;
}

/// Requests a second of redis-benchmark, or 0 where it is not installed.
double run_redis(std::uint32_t count, std::uint32_t window) {
  const pid_t server = start(0, {"redis-server", "--port", std::to_string(kRedisPort), "--save", "",
                                 "--appendonly", "no", "--bind", "127.0.0.1"});
  ::usleep(300'000);
  int status = 0;
  if (::waitpid(server, &status, WNOHANG) == server) return 0;
  ::close(connect_to(kRedisPort));
  const std::string command = "exec redis-benchmark -h 127.0.0.1 -p " + std::to_string(kRedisPort) +
                              " -t set -c 1 -n " + std::to_string(count) + " -P " +
                              std::to_string(window) + " --csv 2>/dev/null";
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

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
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
    std::uint32_t window;
    std::uint32_t count;
    double goal;
  };
  std::printf("%6s %14s %14s %14s %8s %6s %10s\n", "window", "bare epoll/s", "middlebox/s",
              "redis SET/s", "ratio", "goal", "vs redis");
  for (const Case& c : {Case{1, 30'000, 0.9}, Case{16, 300'000, 0.5}, Case{256, 1'000'000, 0.15}}) {
    std::vector<double> bare, middlebox, redis, ratio, against_redis;
    for (int round = 0; round < rounds; ++round) {
      bare.push_back(run_bare(c.count, c.window));
      middlebox.push_back(run_middlebox(argv[1], c.count, c.window));
      redis.push_back(run_redis(c.count, c.window));
      ratio.push_back(middlebox.back() / bare.back());
      if (redis.back() > 0) against_redis.push_back(middlebox.back() / redis.back());
    }
    std::printf("%6u %14.0f %14.0f %14.0f %8.3f %6.2f", c.window, median(bare), median(middlebox),
                median(redis), median(ratio), c.goal);
    if (against_redis.empty()) {
      std::printf(" %10s\n", "no redis");
    } else {
      std::printf(" %10.2f\n", median(against_redis));
    }
    std::fflush(stdout);
  }
}
