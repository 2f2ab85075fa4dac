// HTTP/1.0: a request for each connection.
#include "simco/http/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <cctype>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "simco/http/timed_socket.hpp"
#include "simco/wire/number.hpp"

namespace simco::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

/// Returns what `head` gives as the length of the body, in text, if it does.
std::optional<std::string> content_length(std::string head) {
  constexpr std::string_view kName = "\r\ncontent-length:";
  std::ranges::transform(head, head.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto at = head.find(kName);
  if (at == head.npos) return std::nullopt;
  const auto begin = head.find_first_not_of(' ', at + kName.size());
  return head.substr(begin, head.find('\r', begin) - begin);
}

/// Returns the body of a whole response.
Body body_of(std::string_view response) {
  const auto end = response.find("\r\n\r\n");
  if (!response.starts_with("HTTP/1.") || end == response.npos) {
    return std::unexpected("the response is not HTTP");
  }
  const auto head = response.substr(0, end);
  constexpr std::size_t kStatusAt = std::string_view("HTTP/1.x ").size();
  const auto status = parse_number<int>(head.substr(std::min(kStatusAt, head.size())).substr(0, 3));
  if (status != 200) return std::unexpected(fmt::format("HTTP status {}", status.value_or(0)));
  const auto body = response.substr(end + 4);
  const auto length = content_length(std::string(response.substr(0, end + 2)));
  if (length && parse_number<std::size_t>(*length) != body.size()) {
    return std::unexpected("the response is incomplete");
  }
  return std::string(body);
}

/// Says why an operation on `socket` failed.
std::unexpected<std::string> failed(const TimedSocket& socket, const error_code& error) {
  return std::unexpected((socket.late() ? error_code(asio::error::timed_out) : error).message());
}

}  // namespace

asio::awaitable<Body> async_get(net::HostPort server, std::string path, Limits limits) {
  const auto executor = co_await asio::this_coro::executor;
  error_code unknown;
  const auto addresses =
      Tcp::resolver(executor).resolve(server.host, std::to_string(server.port), unknown);
  if (unknown) co_return std::unexpected(unknown.message());
  TimedSocket socket(Tcp::socket(executor), limits.patience);
  auto [unconnected, at] = co_await asio::async_connect(*socket, addresses, kAsTuple);
  if (unconnected) co_return failed(socket, unconnected);
  const auto request = fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\n\r\n", path,
                                   net::endpoint_text(server.host, server.port));
  auto [unsent, sent] = co_await asio::async_write(*socket, asio::buffer(request), kAsTuple);
  if (unsent) co_return failed(socket, unsent);
  std::string response;
  auto [end, size] = co_await asio::async_read(
      *socket, asio::dynamic_buffer(response, limits.octets + 1), kAsTuple);
  if (!end) co_return std::unexpected("the response is too long");
  if (end != asio::error::eof) co_return failed(socket, end);
  co_return body_of(response);
}

Body get(const net::HostPort& server, const std::string& path, Limits limits) {
  asio::io_context io;
  Body result;
  asio::co_spawn(io, async_get(server, path, limits),
                 [&](const std::exception_ptr& fault, Body body) {
                   if (fault) std::rethrow_exception(fault);
                   result = std::move(body);
                 });
  io.run();
  return result;
}

}  // namespace simco::http
