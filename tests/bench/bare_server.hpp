// A server with as little around its work as possible, for comparison in the benchmarks of whole
// programs.
#pragma once

#include <sys/epoll.h>

#include "tests/bench/session_driver.hpp"

namespace simco::bench {

/// Takes one connection at kPort and reads requests of kRequestSize octets with an epoll loop.
/// `work(requests)` is called with the number of those that a read has completed, and then each is
/// answered by kReplySize octets, in one piece. Ends the process when the client closes.
template <typename Work>
[[noreturn]] void serve_bare(Work&& work) {
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
    const std::size_t requests = left_over / kRequestSize;
    left_over %= kRequestSize;
    if (requests == 0) continue;
    work(static_cast<std::uint32_t>(requests));
    if (::send(connection, out.data(), requests * kReplySize, MSG_NOSIGNAL) < 0) std::exit(0);
  }
}

}  // namespace simco::bench
