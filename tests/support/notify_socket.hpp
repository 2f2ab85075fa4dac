// The service manager's end of sd_notify(3).
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>

namespace simco::test {

class NotifySocket {
 public:
  /// Where it is, is in the environment of what is started until this ends.
  explicit NotifySocket(const char* watchdog_usec = nullptr)
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
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  ~NotifySocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    ::unlink(path_.c_str());
    ::close(socket_);
  }

  /// The next datagram; empty: none came.
  std::string next(std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(limit.count())) != 1) return {};
    std::array<char, 4096> text{};
    const auto size = ::recv(socket_, text.data(), text.size(), 0);
    return {text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
  }
  /// The next one that is no sign of life.
  std::string next_word() {
    std::string text = next();
    while (text == "WATCHDOG=1") text = next();
    return text;
  }

 private:
  std::string path_;
  int socket_;
};

}  // namespace simco::test
