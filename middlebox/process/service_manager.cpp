#include "middlebox/process/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "simco/wire/number.hpp"

namespace simco::middlebox {
namespace {

template <class Number>
std::optional<Number> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return parse_number<Number>(text);
}

}  // namespace

ServiceManager::ServiceManager(boost::asio::io_context& io) : timer_(io) {
  if (const char* path = std::getenv("NOTIFY_SOCKET")) address_ = path;
  if (address_.empty() || address_.size() >= sizeof(sockaddr_un::sun_path)) return;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto usec = number_in<std::int64_t>("WATCHDOG_USEC");
  const auto pid = number_in<pid_t>("WATCHDOG_PID");
  if (usec && *usec > 0 && (!pid || *pid == ::getpid())) interval_.emplace(*usec);
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::tell(std::string_view text) const {
  if (socket_ < 0) return;
  sockaddr_un peer{};
  peer.sun_family = AF_UNIX;
  std::ranges::copy(address_, peer.sun_path);
  if (address_.front() == '@') peer.sun_path[0] = '\0';  // an abstract name
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  // Errors are ignored: without a manager, no notification is needed, and EAGAIN means that its
  // queue is full.
  while (::sendto(socket_, text.data(), text.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&peer), size) < 0 &&
         errno == EINTR) {
  }
}

void ServiceManager::ready(std::string_view status) {
  std::string line(status);
  std::ranges::replace(line, '\n', ' ');  // a line is an assignment
  tell("READY=1\nSTATUS=" + line);
}

void ServiceManager::reloading() { tell("RELOADING=1"); }

void ServiceManager::stopping() { tell("STOPPING=1\nSTATUS=stopping"); }

void ServiceManager::watch(std::function<bool()> alive) {
  if (!interval_) return;
  alive_ = std::move(alive);
  beat();
}

void ServiceManager::beat() {
  if (alive_()) tell("WATCHDOG=1");
  timer_.expires_after(pause_in(*interval_));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) beat();
  });
}

}  // namespace simco::middlebox
