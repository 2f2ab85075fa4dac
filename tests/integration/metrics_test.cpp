// Metrics are read by threads of their own while the loop counts.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/support/figures.hpp"
#include "tests/support/http.hpp"
#include "tests/support/port.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::test {
namespace {

TEST(MetricsThreads, ReadWhileTheLoopCounts) {
  const auto port = free_port();
  middlebox::Metrics metrics;
  metrics.serve("127.0.0.1:" + std::to_string(port));
  backend::NullBackend backend;
  ServerThread server({}, backend, nullptr, &metrics);
  RawAgent agent(server.port());
  agent.open();
  constexpr int kRules = 200;
  std::thread maker([&] {
    for (std::uint16_t i = 1; i <= kRules; ++i) agent.ask(pinhole(i, 3600));
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(http_get(port, "/metrics").find("simco_sessions_opened_total 1\n"),
              std::string::npos);
  }
  maker.join();
  EXPECT_NE(
      http_get(port, "/metrics").find("simco_transactions_total{reply=\"ok\",type=\"PER\"} 200\n"),
      std::string::npos);
}

}  // namespace
}  // namespace simco::test
