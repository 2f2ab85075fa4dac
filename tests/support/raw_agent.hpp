// A plain blocking socket to talk to a middlebox.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "tests/support/octets.hpp"

namespace simco::test {

/// Sends octets and reads messages. A wait that does not end is a failure.
class RawAgent {
 public:
  explicit RawAgent(std::uint16_t port);

  void send(std::span<const std::byte> octets);
  void send(std::string_view hex) { send(from_hex(hex)); }
  void send(const Message& message) { send(encoded(message)); }

  /// The next message, or nothing at the end of the connection. Its views last until the next call.
  std::optional<Message> receive();
  /// A request and its reply, before which events may come where told so.
  enum class Events { kNone, kMayCome };
  Body ask(const Body& body, Events events = Events::kNone);
  /// Opens a session.
  void open();
  /// Opens a session if the middlebox waits long enough for it. Returns whether it does.
  bool try_open();
  /// True when the peer has closed and nothing more comes.
  bool at_end() { return !receive().has_value() && !timed_out_; }
  boost::asio::ip::tcp::socket& socket() { return socket_; }

 private:
  bool fill(std::size_t from);

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  Octets octets_;
  std::uint32_t tid_ = 0;
  bool timed_out_ = false;
};

}  // namespace simco::test
