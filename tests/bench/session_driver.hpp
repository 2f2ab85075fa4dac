// The common part of the benchmarks of whole programs: servers as processes, and a client that
// keeps a number of PERs in flight on one session.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

namespace simco::bench {

using Clock = std::chrono::steady_clock;

inline constexpr std::uint16_t kPort = 17'711;
inline constexpr std::size_t kRequestSize = 56;   // PER request, IPv4, without group
inline constexpr std::size_t kReplySize = 64;     // its positive reply from a firewall
inline constexpr std::size_t kNatReplySize = 44;  // and from a traditional NAT
inline constexpr std::size_t kBufferSize = 256 * 1024;

[[noreturn]] inline void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

inline void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);  // without a second core it changes nothing
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// --- Processes -----------------------------------------------------------------------------------

/// Runs `command`, or `instead`, on `core`.
inline pid_t start(int core, const std::vector<std::string>& command, void (*instead)() = nullptr) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin(core);
  if (instead != nullptr) instead();
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, 1);
  ::dup2(null, 2);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  std::_Exit(127);
}

inline void stop(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// `client`: which of the loopback addresses to connect from.
inline int connect_to(std::uint16_t port, std::uint32_t client = 0) {
  const auto address = loopback(port);
  auto own = loopback(0);
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + client);
  for (int attempt = 0; attempt < 500; ++attempt) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) die("bind");
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

inline void receive_exactly(int fd, std::size_t size) {
  std::array<char, 4096> buffer;
  while (size > 0) {
    const auto got = ::recv(fd, buffer.data(), std::min(size, buffer.size()), 0);
    if (got <= 0) die("recv");
    size -= static_cast<std::size_t>(got);
  }
}

inline std::size_t encode(TransactionId tid, const Body& body, std::byte* to) {
  ByteWriter out(std::span(to, kBufferSize));
  encode(tid, body, out);
  return out.written();
}

inline void open_session(int fd) {
  std::vector<std::byte> buffer(kBufferSize);
  const auto size = encode({0}, SeRequest{}, buffer.data());
  if (::send(fd, buffer.data(), size, 0) < 0) die("send");
  receive_exactly(fd, encoded_size(SeReply{}));
}

/// Where a PER reply has the PID.
inline constexpr std::size_t kPidAt = 12;
/// The PID of the last rule that drive() has made, and its session.
inline std::uint32_t last_pid = 0;
inline int last_session = -1;

/// A PER for a pinhole between one host and another; the TID and the internal address of each one's
/// octets are then its number's.
inline PerRequest pinhole_request() {
  PerRequest request;
  request.parameters.direction = Direction::kBidirectional;
  for (auto* tuple : {&request.internal, &request.external}) {
    tuple->protocol = kProtocolUdp;
    tuple->port = 16384;
    tuple->port_range = 2;
  }
  request.external.location = Location::kExternal;
  constexpr std::array<unsigned char, 4> kPeer = {192, 0, 2, 2};
  std::memcpy(request.external.address.data(), kPeer.data(), kPeer.size());
  request.lifetime = {120};
  return request;
}
inline void put_number(std::byte* request, std::uint32_t number) {
  constexpr std::size_t kTidAt = 4;
  constexpr std::size_t kAddressAt = 28;
  const std::uint32_t octets = htonl(number);
  std::memcpy(request + kTidAt, &octets, sizeof octets);
  std::memcpy(request + kAddressAt, &octets, sizeof octets);
}

/// `count` PERs, each for another pinhole, `window` of them in flight; answers how many a second.
/// They are number `first` + 1 and following.
inline double drive(int fd, std::uint32_t count, std::uint32_t window, std::uint32_t first = 0,
                    std::size_t reply_size = kReplySize) {
  const auto request = pinhole_request();
  static std::vector<std::byte> out(kBufferSize);
  for (std::uint32_t i = 0; i < window; ++i) encode({0}, request, out.data() + i * kRequestSize);
  static std::vector<char> in(kBufferSize);
  std::string last;  // octets of the last reply
  std::uint32_t sent = 0;
  const auto send_some = [&](std::uint32_t n) {
    n = std::min(n, count - sent);
    for (std::uint32_t i = 0; i < n; ++i) {
      put_number(out.data() + i * kRequestSize, first + ++sent);
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
    const auto kept = std::min(static_cast<std::size_t>(got), reply_size);
    last.append(in.data() + got - kept, kept);
    last.erase(0, last.size() - std::min(last.size(), reply_size));
    const auto now_answered = static_cast<std::uint32_t>(octets / reply_size);
    send_some(now_answered - answered);
    answered = now_answered;
  }
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  last_session = fd;
  std::memcpy(&last_pid, last.data() + kPidAt, sizeof last_pid);
  last_pid = ntohl(last_pid);
  return count / elapsed.count();
}

/// `count` PERs, one at a time on each of `sessions`; answers how many a second.
inline double drive_each(const std::vector<int>& sessions, std::uint32_t count) {
  std::vector<std::byte> request(kBufferSize);
  encode({0}, pinhole_request(), request.data());
  const int loop = ::epoll_create1(0);
  std::uint32_t sent = 0;
  const auto send_one = [&](int session) {
    if (sent == count) return;
    put_number(request.data(), ++sent);
    if (::send(session, request.data(), kRequestSize, MSG_NOSIGNAL) < 0) die("send");
  };
  for (const int session : sessions) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.fd = session;
    ::epoll_ctl(loop, EPOLL_CTL_ADD, session, &wanted);
  }
  const auto begin = Clock::now();
  for (const int session : sessions) send_one(session);
  std::array<epoll_event, 128> events{};
  std::array<char, 4096> in;
  for (std::uint32_t answered = 0; answered < count;) {
    const int ready = ::epoll_wait(loop, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int session = events[static_cast<std::size_t>(i)].data.fd;
      if (::recv(session, in.data(), in.size(), 0) != static_cast<ssize_t>(kReplySize)) die("recv");
      ++answered;
      last_session = session;
      send_one(session);
    }
  }
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  ::close(loop);
  std::memcpy(&last_pid, in.data() + kPidAt, sizeof last_pid);
  last_pid = ntohl(last_pid);
  return count / elapsed.count();
}

/// After a run: the middlebox must really have made the last rule.
inline void check_last_rule() {
  std::vector<std::byte> buffer(kBufferSize);
  const auto size = encode({0xFFFF'FFFF}, PrsRequest{{last_pid}}, buffer.data());
  if (::send(last_session, buffer.data(), size, 0) < 0) die("send");
  std::array<std::byte, kHeaderSize> header{};
  if (::recv(last_session, header.data(), header.size(), MSG_WAITALL) != std::ssize(header))
    die("recv");
  if (read_header(header).type != PesReply::kType) {
    std::fprintf(stderr, "rule %u is not there: the middlebox refused requests\n", last_pid);
    std::exit(1);
  }
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace simco::bench
