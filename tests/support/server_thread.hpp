// A middlebox on a loop and a thread of its own, and a plain blocking socket to talk to it.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

#include "middlebox/backend/null_backend.hpp"
#include "middlebox/server.hpp"
#include "tests/support/octets.hpp"

namespace simco::test {

class ServerThread {
 public:
  explicit ServerThread(middlebox::ServerOptions options = {})
      : ServerThread(std::move(options), null_, nullptr) {}
  ServerThread(middlebox::ServerOptions options, backend::Backend& backend, store::Store* store) {
    options.listen.port = 0;
    server_ = std::make_unique<middlebox::Server>(io_, options, backend, nullptr, store);
    port_ = server_->ports().front();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~ServerThread() {
    io_.stop();
    thread_.join();
  }
  std::uint16_t port() const { return port_; }

  /// Runs `work(server)` on the server's thread and answers its result.
  template <class Work>
  auto ask(Work work) {
    std::packaged_task<std::invoke_result_t<Work, middlebox::Server&>()> task(
        [&] { return work(*server_); });
    auto result = task.get_future();
    boost::asio::post(io_, [&] { task(); });
    return result.get();
  }
  void stop() {
    auto done = std::make_shared<std::promise<void>>();
    auto stopped = done->get_future();
    boost::asio::post(io_, [this, done] { server_->stop([done] { done->set_value(); }); });
    stopped.get();
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  backend::NullBackend null_;
  std::unique_ptr<middlebox::Server> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

/// Sends octets, reads messages; every wait ends after five seconds with a failure.
class RawAgent {
 public:
  explicit RawAgent(std::uint16_t port) : socket_(io_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    const timeval wait{5, 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    socket_.set_option(boost::asio::ip::tcp::no_delay(true));
  }

  void send(std::span<const std::byte> octets) {
    std::size_t sent = 0;
    while (sent < octets.size()) {
      const auto now =
          ::send(socket_.native_handle(), octets.data() + sent, octets.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return;  // the other side may have closed already
      sent += static_cast<std::size_t>(now);
    }
  }
  void send(std::string_view hex) { send(from_hex(hex)); }
  void send(const Message& message) { send(encoded(message)); }

  /// The next message, or nothing at the end of the connection. Its views last until the next call.
  std::optional<Message> receive() {
    octets_.resize(kHeaderSize);
    if (!fill(0)) return std::nullopt;
    const auto header = read_header(std::span<const std::byte>(octets_).first<kHeaderSize>());
    octets_.resize(kHeaderSize + header.length);
    if (!fill(kHeaderSize)) return std::nullopt;
    const auto message = decode(octets_);
    EXPECT_TRUE(message) << to_hex(octets_);
    if (!message) return std::nullopt;
    return *message;
  }
  /// A request and its reply, before which events may come where told so.
  enum class Events { kNone, kMayCome };
  Body ask(const Body& body, Events events = Events::kNone) {
    const TransactionId tid{++tid_};
    send(Message{tid, body});
    auto reply = receive();
    while (events == Events::kMayCome && reply &&
           std::holds_alternative<AreNotification>(reply->body)) {
      reply = receive();
    }
    EXPECT_TRUE(reply && reply->tid == tid);
    return reply ? reply->body : Body{BfmNotification{}};
  }
  void open() { EXPECT_TRUE(std::holds_alternative<SeReply>(ask(SeRequest{}))); }
  /// True when the peer has closed and nothing more comes.
  bool at_end() { return !receive().has_value() && !timed_out_; }
  void reset() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    socket_.close();
  }
  boost::asio::ip::tcp::socket& socket() { return socket_; }

 private:
  bool fill(std::size_t from) {
    while (from < octets_.size()) {
      const auto got =
          ::recv(socket_.native_handle(), octets_.data() + from, octets_.size() - from, 0);
      timed_out_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      EXPECT_FALSE(timed_out_) << "nothing came for five seconds";
      if (got <= 0) return false;
      from += static_cast<std::size_t>(got);
    }
    return true;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  Octets octets_;
  std::uint32_t tid_ = 0;
  bool timed_out_ = false;
};

}  // namespace simco::test
