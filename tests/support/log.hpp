// What the code under test logs, for a test that waits until it says something.
#pragma once

#include <memory>
#include <string_view>

namespace simco::test {

/// Takes the place of the default logger while it lives. For code that logs on the test's thread.
class Log {
 public:
  Log();
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool says(std::string_view words) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace simco::test
