#include "tests/support/raw_agent.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/support/patience.hpp"

namespace simco::test {

RawAgent::RawAgent(std::uint16_t port) : socket_(io_) {
  socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  const timeval wait{kPatience.count(), 0};
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  socket_.set_option(boost::asio::ip::tcp::no_delay(true));
}

void RawAgent::send(std::span<const std::byte> octets) {
  std::size_t sent = 0;
  while (sent < octets.size()) {
    const auto now =
        ::send(socket_.native_handle(), octets.data() + sent, octets.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return;  // the other side may have closed already
    sent += static_cast<std::size_t>(now);
  }
}

std::optional<Message> RawAgent::receive() {
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

Body RawAgent::ask(const Body& body, Events events) {
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

void RawAgent::open() { EXPECT_TRUE(std::holds_alternative<SeReply>(ask(SeRequest{}))); }

bool RawAgent::try_open() {
  send(Message{{++tid_}, SeRequest{}});
  const auto reply = receive();
  return reply && std::holds_alternative<SeReply>(reply->body);
}

bool RawAgent::fill(std::size_t from) {
  while (from < octets_.size()) {
    const auto got =
        ::recv(socket_.native_handle(), octets_.data() + from, octets_.size() - from, 0);
    timed_out_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    EXPECT_FALSE(timed_out_) << "nothing came for " << kPatience.count() << " s";
    if (got <= 0) return false;
    from += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace simco::test
