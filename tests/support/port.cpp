#include "tests/support/port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>

namespace simco::test {
namespace {

// Below the ports that Linux gives to sockets that ask for any port (net.ipv4.ip_local_port_range).
constexpr int kFirst = 12'000;
constexpr int kLast = 31'999;

/// Tests agree on ports by names of abstract sockets, which go with the process.
bool claim(int port) {
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const auto text = "simco-test-port-" + std::to_string(port);
  std::ranges::copy(text, name.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&name), size) == 0) return true;
  ::close(socket);
  return false;
}

bool unused(int port, int type) {
  const int socket = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  local.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0;
  ::close(socket);
  return bound;
}

}  // namespace

std::uint16_t free_port() {
  static std::minstd_rand random(static_cast<unsigned>(::getpid()));
  for (int tries = 0; tries < kLast - kFirst; ++tries) {
    const int port = std::uniform_int_distribution<int>(kFirst, kLast)(random);
    if (claim(port) && unused(port, SOCK_STREAM) && unused(port, SOCK_DGRAM)) {
      return static_cast<std::uint16_t>(port);
    }
  }
  throw std::runtime_error("no free port");
}

}  // namespace simco::test
