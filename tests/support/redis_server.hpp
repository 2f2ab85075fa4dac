// A real redis-server on a free port of the loopback interface, which keeps nothing on disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

namespace simco::test {

class RedisServer {
 public:
  /// Returns when it serves.
  explicit RedisServer(const std::vector<std::string>& options = {});
  ~RedisServer();
  Program& program() { return *program_; }
  std::uint16_t port() const { return port_; }
  std::string address() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  std::uint16_t port_;
  std::string folder_;
  std::unique_ptr<Program> program_;
};

/// Waits until a redis-server that has been started serves.
void wait_for_redis(Program& program);

}  // namespace simco::test
