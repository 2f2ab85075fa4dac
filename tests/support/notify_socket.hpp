// The service manager's end of sd_notify(3).
#pragma once

#include <chrono>
#include <string>

#include "tests/support/patience.hpp"

namespace simco::test {

class NotifySocket {
 public:
  /// Where it is, is in the environment of what is started until this ends.
  explicit NotifySocket(const char* watchdog_usec = nullptr);
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  ~NotifySocket();

  /// The next datagram; empty: none came.
  std::string next(std::chrono::milliseconds limit = kPatience);
  /// The next one that is no sign of life.
  std::string next_word();

 private:
  std::string path_;
  int socket_;
};

}  // namespace simco::test
