// A coroutine accepts connections; another per connection reads a request and answers it.
#include "simco/http/server.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "simco/http/limits.hpp"
#include "simco/http/timed_socket.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/net/limits.hpp"

namespace simco::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed\r\nAllow: GET";
    default: return "Request Header Fields Too Large";  // 431
  }
}

std::string to_octets(const Response& response) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "Connection: close\r\n\r\n{}",
      response.status, reason(response.status), response.type, response.body.size(), response.body);
}

/// Returns the path of a request's target, which proxies send with the server's name in front of
/// it (RFC 9112 section 3.2.2); empty if it has none.
std::string_view path_in(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (target.starts_with(kScheme)) {
    target.remove_prefix(std::min(target.find('/', kScheme.size()), target.size()));
  }
  return target.starts_with('/') ? target.substr(0, target.find('?')) : std::string_view();
}

/// Returns the response to a request by its first line; nothing depends on its header fields.
Response answer(std::string_view request, const Handler& handler) {
  const auto line = request.substr(0, request.find("\r\n"));
  const auto method_end = line.find(' ');
  const auto target_end = line.find(' ', method_end + 1);
  if (method_end == line.npos || target_end == line.npos ||
      !line.substr(target_end).starts_with(" HTTP/1.")) {
    return {400, "not a request of HTTP/1\n"};
  }
  const auto method = line.substr(0, method_end);
  if (method == "HEAD") return {405, ""};  // whose response has no body
  if (method != "GET") return {405, "only GET is served\n"};
  const auto path = path_in(line.substr(method_end + 1, target_end - method_end - 1));
  return path.empty() ? Response{400, "the target has no path\n"} : handler(path);
}

}  // namespace

struct Server::State {
  State(asio::io_context& io, Handler handler_to_call)
      : acceptor(io), pause(io), handler(std::move(handler_to_call)) {}

  void listen(const std::string& endpoint);
  static asio::awaitable<void> accept(std::shared_ptr<State> server);
  static asio::awaitable<void> serve(Tcp::socket accepted, std::shared_ptr<State> server);

  Tcp::acceptor acceptor;
  asio::steady_timer pause;
  Handler handler;  ///< null after the end of the server
  std::size_t open = 0;
};

void Server::State::listen(const std::string& endpoint) {
  const auto at = net::parse_address_port(endpoint);
  if (!at) throw std::runtime_error(at.error());
  const Tcp::endpoint local(asio::ip::make_address(at->host), at->port);
  acceptor.open(local.protocol());
  acceptor.set_option(Tcp::acceptor::reuse_address(true));
  if (local.protocol() == Tcp::v6()) acceptor.set_option(asio::ip::v6_only(true));
  acceptor.bind(local);
  acceptor.listen();
}

asio::awaitable<void> Server::State::accept(std::shared_ptr<State> server) {
  while (server->acceptor.is_open()) {
    auto [error, socket] = co_await server->acceptor.async_accept(kAsTuple);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of file descriptors
      server->pause.expires_after(net::kAcceptPause);
      co_await server->pause.async_wait(kAsTuple);
      continue;
    }
    if (server->open == kConnectionsMax) continue;
    ++server->open;
    asio::co_spawn(server->acceptor.get_executor(), serve(std::move(socket), server),
                   [server](const std::exception_ptr& fault) {
                     --server->open;
                     if (fault) std::rethrow_exception(fault);
                   });
  }
}

asio::awaitable<void> Server::State::serve(Tcp::socket accepted, std::shared_ptr<State> server) {
  TimedSocket socket(std::move(accepted), kServerPatience);
  std::string octets;
  auto [unread, size] = co_await asio::async_read_until(
      *socket, asio::dynamic_buffer(octets, kHeadMax), "\r\n\r\n", kAsTuple);
  const bool too_long = unread == asio::error::not_found;
  if ((unread && !too_long) || !server->handler) co_return;
  octets = to_octets(too_long ? Response{431, "the head of the request is too long\n"}
                              : answer(octets, server->handler));
  auto [error, sent] = co_await asio::async_write(*socket, asio::buffer(octets), kAsTuple);
  error_code ignored;
  socket->shutdown(Tcp::socket::shutdown_send, ignored);
  // Closing a socket with unread octets resets the connection, and the client loses the response.
  for (std::array<char, 4096> rest; !error;) {
    std::tie(error, sent) = co_await socket->async_read_some(asio::buffer(rest), kAsTuple);
  }
}

Server::Server(asio::io_context& io, const std::string& endpoint, const std::string& failure,
               Handler handler)
    : state_(std::make_shared<State>(io, std::move(handler))) {
  try {
    state_->listen(endpoint);
  } catch (const boost::system::system_error& fault) {
    throw std::runtime_error(failure + " " + endpoint + ": " + fault.code().message());
  }
  asio::co_spawn(io, State::accept(state_), [](const std::exception_ptr& fault) {
    if (fault) std::rethrow_exception(fault);
  });
}

Server::~Server() {
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
  state_->handler = nullptr;
}

}  // namespace simco::http
