// A middlebox on a loop and a thread of its own.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>

#include "middlebox/backend/null_backend.hpp"
#include "middlebox/serve/server.hpp"
#include "tests/support/raw_agent.hpp"

namespace simco::test {

class ServerThread {
 public:
  explicit ServerThread(middlebox::ServerOptions options = {});
  /// `port`: 0 lets the kernel choose.
  ServerThread(middlebox::ServerOptions options, backend::Backend& backend, store::Store* store,
               middlebox::Metrics* metrics = nullptr, std::uint16_t port = 0);
  ~ServerThread();
  std::uint16_t port() const { return port_; }

  /// How often its loop has called a handler.
  std::uint64_t handlers_called() const { return handlers_called_; }
  std::size_t connections();
  std::size_t rules();
  /// Runs `work(server)` on the server's thread and returns its result.
  template <class Work>
  auto ask(Work work) {
    std::packaged_task<std::invoke_result_t<Work, middlebox::Server&>()> task(
        [&] { return work(*server_); });
    auto result = task.get_future();
    boost::asio::post(io_, [&] { task(); });
    return result.get();
  }
  /// Stops it in good order.
  void stop();

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  backend::NullBackend null_;
  std::unique_ptr<middlebox::Server> server_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> handlers_called_ = 0;
  std::thread thread_;
};

}  // namespace simco::test
