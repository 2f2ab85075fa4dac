// Metrics are read by threads of their own while the loop counts.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <string>
#include <thread>
#include <vector>

#include "middlebox/serve/loop_call.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/http.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/port.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;

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

TEST(MetricsServer, SaysWhereTheMetricsAre) {
  const auto port = free_port();
  const auto endpoint = "127.0.0.1:" + std::to_string(port);
  middlebox::Metrics metrics;
  metrics.serve(endpoint);
  EXPECT_TRUE(http_get(port, "/").ends_with("\r\n\r\nsimco-middlebox " SIMCO_VERSION
                                            ": the metrics are at /metrics\n"));
  for (const char* path : {"/metric", "/metrics/x"}) {
    const auto reply = http_get(port, path);
    EXPECT_NE(reply.find(" 404 Not Found\r\n"), reply.npos) << reply;
    EXPECT_TRUE(reply.ends_with("the metrics are at /metrics")) << reply;
  }
  middlebox::Metrics second;
  EXPECT_THROW(second.serve(endpoint), std::runtime_error);
}

TEST(LoopCall, TheLoopDoesItForAllWhoWait) {
  boost::asio::io_context io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
  std::thread::id worker;
  middlebox::LoopCall loop(io, [&] { worker = std::this_thread::get_id(); });
  constexpr int kReaders = 4;
  std::atomic<int> served = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] { served += loop.call(kPatience) ? 1 : 0; });
  }
  while (served < kReaders) io.run_one_for(1ms);
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(LoopCall, ALoopThatIsBusyKeepsNobodyWaiting) {
  boost::asio::io_context io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
  bool worked = false;
  middlebox::LoopCall loop(io, [&] { worked = true; });
  bool served = true;
  std::thread([&] { served = loop.call(1ms); }).join();
  EXPECT_FALSE(served);
  EXPECT_FALSE(worked);
}

}  // namespace
}  // namespace simco::test
