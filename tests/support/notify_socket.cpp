#include "tests/support/notify_socket.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace simco::test {

NotifySocket::NotifySocket(const char* watchdog_usec)
    : path_(testing::TempDir() + "notify-" + std::to_string(::getpid())),
      socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  ::unlink(path_.c_str());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path_, address.sun_path);
  EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  if (watchdog_usec != nullptr) ::setenv("WATCHDOG_USEC", watchdog_usec, 1);
}

NotifySocket::~NotifySocket() {
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("WATCHDOG_USEC");
  ::unlink(path_.c_str());
  ::close(socket_);
}

std::string NotifySocket::next(std::chrono::milliseconds limit) {
  pollfd wait{socket_, POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(limit.count())) != 1) return {};
  std::array<char, 4096> text{};
  const auto size = ::recv(socket_, text.data(), text.size(), 0);
  return {text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
}

std::string NotifySocket::next_word() {
  std::string text = next();
  while (text == "WATCHDOG=1") text = next();
  return text;
}

}  // namespace simco::test
