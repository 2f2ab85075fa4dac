// A server with as little around its work as possible, for comparison in the benchmarks of whole
// programs.
#pragma once

#include <sys/epoll.h>

#include "tests/bench/session_driver.hpp"

namespace simco::bench {

/// Takes connections at kPort and reads requests of kRequestSize octets with an epoll loop.
/// `work(requests)` is called with the number of those that a read has completed, and then each is
/// answered by kReplySize octets, in one piece. Ends the process when a client closes.
template <typename Work>
[[noreturn]] void serve_bare(Work&& work) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto address = loopback(kPort);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    die("bind");
  ::listen(listener, 1024);
  const int loop = ::epoll_create1(0);
  const auto watch = [loop](int descriptor) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.fd = descriptor;
    ::epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &wanted);
  };
  watch(listener);
  static std::array<char, kBufferSize> in;
  static std::array<char, 2 * kBufferSize> out;
  std::array<epoll_event, 128> events{};
  std::vector<std::size_t> left_over;  // by connection
  for (;;) {
    const int ready = ::epoll_wait(loop, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int connection = events[static_cast<std::size_t>(i)].data.fd;
      if (connection == listener) {
        const int taken = ::accept(listener, nullptr, nullptr);
        ::setsockopt(taken, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        left_over.resize(static_cast<std::size_t>(taken) + 1);
        watch(taken);
        continue;
      }
      const auto got = ::recv(connection, in.data(), 64 * 1024, MSG_DONTWAIT);
      if (got == 0) std::exit(0);
      if (got < 0) continue;
      auto& octets = left_over[static_cast<std::size_t>(connection)];
      octets += static_cast<std::size_t>(got);
      const std::size_t requests = octets / kRequestSize;
      octets %= kRequestSize;
      if (requests == 0) continue;
      work(static_cast<std::uint32_t>(requests));
      if (::send(connection, out.data(), requests * kReplySize, MSG_NOSIGNAL) < 0) std::exit(0);
    }
  }
}

}  // namespace simco::bench
