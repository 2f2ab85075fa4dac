#include "tests/support/redis_server.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/patience.hpp"
#include "tests/support/port.hpp"

namespace simco::test {

RedisServer::RedisServer(const std::vector<std::string>& options)
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
                                    "--repl-diskless-sync-delay",
                                    "0",
                                    "--dir",
                                    folder_};
  words.insert(words.end(), options.begin(), options.end());
  program_ = std::make_unique<Program>(words);
  wait_for_redis(*program_);
}

RedisServer::~RedisServer() {
  program_.reset();
  std::filesystem::remove_all(folder_);  // a replica writes the data that it is sent
}

void wait_for_redis(Program& program) {
  EXPECT_TRUE(
      eventually([&] { return program.out().contains("eady to accept") || !program.running(); }));
  EXPECT_TRUE(program.running()) << program.out();
}

}  // namespace simco::test
