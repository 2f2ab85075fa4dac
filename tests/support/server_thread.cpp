#include "tests/support/server_thread.hpp"

namespace simco::test {

ServerThread::ServerThread(middlebox::ServerOptions options)
    : ServerThread(std::move(options), null_, nullptr) {}

ServerThread::ServerThread(middlebox::ServerOptions options, backend::Backend& backend,
                           store::Store* store, middlebox::Metrics* metrics, std::uint16_t port) {
  options.listen.port = port;
  server_ = std::make_unique<middlebox::Server>(io_, options, backend, metrics, store);
  server_->start();
  port_ = server_->ports().front();
  thread_ = std::thread([this] {
    while (io_.run_one() != 0) ++handlers_called_;
  });
}

ServerThread::~ServerThread() {
  io_.stop();
  thread_.join();
}

std::size_t ServerThread::connections() {
  return ask([](middlebox::Server& server) { return server.connection_count(); });
}
std::size_t ServerThread::rules() {
  return ask([](middlebox::Server& server) { return server.rule_count(); });
}

void ServerThread::stop() {
  auto done = std::make_shared<std::promise<void>>();
  auto stopped = done->get_future();
  boost::asio::post(io_, [this, done] { server_->stop([done] { done->set_value(); }); });
  stopped.get();
}

}  // namespace simco::test
