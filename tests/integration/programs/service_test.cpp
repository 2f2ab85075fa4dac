// The middlebox under a service manager: its notifications, and the promises of its unit file.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <fstream>
#include <functional>

#include "middlebox/process/service_manager.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/program.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using middlebox::ServiceManager;

/// The service manager's end of sd_notify(3).
class NotifySocket {
 public:
  /// Where it is, is in the environment of what is started until this ends.
  explicit NotifySocket(const char* watchdog_usec = nullptr) {
    ::unlink(path_.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path_, address.sun_path);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    if (watchdog_usec != nullptr) ::setenv("WATCHDOG_USEC", watchdog_usec, 1);
  }
  ~NotifySocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    ::unlink(path_.c_str());
    ::close(socket_);
  }
  /// The next datagram; empty: none came.
  std::string next(std::chrono::milliseconds limit = kPatience) const {
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(limit.count())) != 1) return {};
    std::array<char, 4096> text{};
    const auto size = ::recv(socket_, text.data(), text.size(), 0);
    return {text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
  }
  /// The next one that is no sign of life.
  std::string next_word() const {
    std::string text = next();
    while (text == "WATCHDOG=1") text = next();
    return text;
  }

 private:
  const std::string path_ = testing::TempDir() + "notify-" + std::to_string(::getpid());
  const int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST(Service, TellsWhatItDoes) {
  NotifySocket manager;
  const Folder folder("service");
  const auto file = folder.write("box.toml", "port = 0\n");
  Program box({"simco-middlebox", "--config", file});
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=serving");
  EXPECT_NE(box.listening_port(), 0);  // it was listening when it said so
  folder.write("box.toml", "port = 0\nlog-level = \"debug\"\n");
  box.signal(SIGHUP);
  EXPECT_EQ(manager.next(), "RELOADING=1");
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=configuration reloaded");
  folder.write("box.toml", "port = 0\nnonsense = 1\n");
  box.signal(SIGHUP);
  EXPECT_EQ(manager.next(), "RELOADING=1");
  const auto status = manager.next();
  EXPECT_TRUE(
      status.starts_with("READY=1\nSTATUS=configuration rejected; keeping the current one: "))
      << status;
  EXPECT_TRUE(status.contains(":2: unknown option 'nonsense'")) << status;
  box.signal(SIGTERM);
  EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=stopping");
  EXPECT_EQ(box.wait(), 0);
}

TEST(Service, SaysThatItIsAliveWhereAWatchdogIsSet) {
  {
    NotifySocket manager("200000");
    Program box({"simco-middlebox", "--port", "0"});
    EXPECT_EQ(manager.next_word(), "READY=1\nSTATUS=serving");
    for (int i = 0; i < 5; ++i) EXPECT_EQ(manager.next(), "WATCHDOG=1");
  }
  NotifySocket manager;
  Program box({"simco-middlebox", "--port", "0"});
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=serving");
  EXPECT_EQ(manager.next(300ms), "");  // a watchdog would have barked
}

TEST(Service, IsNotAliveWithoutItsBackend) {
  NotifySocket manager("20000");
  boost::asio::io_context io;
  ServiceManager service(io);
  ASSERT_EQ(service.watchdog_interval(), 20ms);
  int asked = 0;
  bool answer = true;
  service.watch([&] {
    ++asked;
    return answer;
  });
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(manager.next(), "WATCHDOG=1");
  answer = false;
  while (asked < 4) io.run_one();
  EXPECT_EQ(manager.next(1ms), "");
  answer = true;
  io.run_one();
  EXPECT_EQ(manager.next(), "WATCHDOG=1");
}

/// The value of `key` in the unit file, in seconds.
std::chrono::seconds seconds_in_unit(const std::string& key) {
  std::ifstream unit(SIMCO_SOURCE_DIR "/middlebox/systemd/simco-middlebox.service");
  for (std::string line; std::getline(unit, line);) {
    if (line.starts_with(key + "="))
      return std::chrono::seconds(std::stoi(line.substr(key.size() + 1)));
  }
  return {};
}

// Time is virtual: if all processors are taken away for so long at any moment, systemd hears of the
// service before its patience is over.
TEST(Service, AWatchdogDoesNotShootAServiceThatStarves) {
  constexpr auto kStarved = 30s;
  const std::chrono::microseconds patience = seconds_in_unit("WatchdogSec");
  const auto pause = ServiceManager::pause_in(patience);
  ASSERT_GT(pause, 0us);
  for (Instant::duration begin = 0s; begin <= pause; begin += 100ms) {
    VirtualTime time;
    const Instant starves{time.now() + begin};
    const Instant runs_again{starves + kStarved};
    Instant heard = time.now();
    Instant::duration longest{};
    std::function<void()> beat = [&] {
      if (time.now() >= starves && time.now() < runs_again) return time.at(runs_again, beat);
      longest = std::max(longest, time.now() - heard);
      heard = time.now();
      time.after(pause, beat);
    };
    beat();
    time.run_until(runs_again + patience);
    EXPECT_LT(longest, patience) << "starved " << begin / 1ms << " ms after a sign of life";
  }
}

TEST(Service, IgnoresAWatchdogForOthers) {
  NotifySocket manager("20000");
  boost::asio::io_context io;
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(ServiceManager(io).watchdog_interval());
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_TRUE(ServiceManager(io).watchdog_interval());
  ::unsetenv("WATCHDOG_PID");
  ::setenv("WATCHDOG_USEC", "20 ms", 1);
  EXPECT_FALSE(ServiceManager(io).watchdog_interval());
}

TEST(Service, UnitIsExposedLittle) {
  // The threshold is ten times the level that systemd-analyze prints; above it, it fails.
  run({"/usr/bin/systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager",
       SIMCO_SOURCE_DIR "/middlebox/systemd/simco-middlebox.service"},
      0);
}

}  // namespace
}  // namespace simco::test
