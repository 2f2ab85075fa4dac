// A real redis-server on a free port of the loopback interface, which keeps nothing on disk.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

namespace simco::test {

class RedisServer {
 public:
  explicit RedisServer(const std::vector<std::string>& options = {})
      : port_(free_port()), folder_(testing::TempDir() + "simco-redis-" + std::to_string(port_)) {
    std::filesystem::create_directory(folder_);
    std::vector<std::string> words = {"/usr/bin/redis-server",
                                      "--port",
                                      std::to_string(port_),
                                      "--bind",
                                      "127.0.0.1",
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--dir",
                                      folder_};
    words.insert(words.end(), options.begin(), options.end());
    program_ = std::make_unique<Program>(words);
    for (int i = 0; i < 1000 && program_->out().find("eady to accept") == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  ~RedisServer() {
    program_.reset();
    std::filesystem::remove_all(folder_);  // a replica puts down what it is sent
  }
  Program& program() { return *program_; }
  std::uint16_t port() const { return port_; }
  std::string address() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  static std::uint16_t free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in local{};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof local;
    ::bind(probe, reinterpret_cast<const sockaddr*>(&local), size);
    ::getsockname(probe, reinterpret_cast<sockaddr*>(&local), &size);
    ::close(probe);
    return ntohs(local.sin_port);
  }

  std::uint16_t port_;
  std::string folder_;
  std::unique_ptr<Program> program_;
};

}  // namespace simco::test
