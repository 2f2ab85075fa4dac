// A coroutine for each connection of bulk and web traffic, at both ends, and for datagrams.
#include "loadgen/cross/traffic.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/endian/conversion.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "loadgen/cross/limits.hpp"

namespace simco::cross {
namespace {

namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;
using asio::ip::udp;
using boost::system::error_code;
using Seconds = std::chrono::duration<double>;

// A page of the web (Camarillo et al. 2009: html and two pictures, 85 kB in all), and a session of
// them.
constexpr std::array<std::uint64_t, 3> kPage = {5'000, 40'000, 40'000};
constexpr int kPages = 3;
constexpr std::chrono::seconds kThink{10};

std::vector<std::byte>& chunk() {
  static std::vector<std::byte> octets(kChunk);
  return octets;
}

std::chrono::nanoseconds of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(seconds));
}

/// Reads and discards `octets`, or all until the end. Returns whether there were as many.
asio::awaitable<bool> discard(tcp::socket& socket, Flow& flow, std::uint64_t octets) {
  error_code error;
  while (octets > 0) {
    const auto room =
        asio::buffer(chunk(), static_cast<std::size_t>(std::min<std::uint64_t>(octets, kChunk)));
    const auto got =
        co_await socket.async_read_some(room, asio::redirect_error(use_awaitable, error));
    if (error) co_return false;
    flow.count(got);
    octets -= got;
  }
  co_return true;
}

/// Sends `octets`. Returns whether the peer took them.
asio::awaitable<bool> send(tcp::socket& socket, Flow& flow, std::uint64_t octets) {
  error_code error;
  while (octets > 0) {
    const auto part =
        asio::buffer(chunk(), static_cast<std::size_t>(std::min<std::uint64_t>(octets, kChunk)));
    const auto put =
        co_await socket.async_write_some(part, asio::redirect_error(use_awaitable, error));
    if (error) co_return false;
    flow.count(put);
    octets -= put;
  }
  co_return true;
}

asio::awaitable<bool> say(tcp::socket& socket, std::uint64_t number) {
  error_code error;
  const auto octets = boost::endian::native_to_big(number);
  co_await asio::async_write(socket, asio::buffer(&octets, sizeof octets),
                             asio::redirect_error(use_awaitable, error));
  co_return !error;
}

/// Does `action`. Throws std::runtime_error with a sentence that begins with `what` and `end` if
/// that throws boost::system::system_error.
template <class End, class Action>
auto or_say(const char* what, const End& end, Action action) {
  try {
    return action();
  } catch (const boost::system::system_error& failure) {
    throw std::runtime_error(
        fmt::format("cannot {} {}: {}", what, fmt::streamed(end), failure.code().message()));
  }
}

// --- Listening ---------------------------------------------------------------------------------

/// Serves a connection until its end.
asio::awaitable<void> serve(tcp::socket socket, Journal& journal, std::size_t& served) {
  Flow flow(journal, socket.native_handle());
  for (;;) {
    std::uint64_t number = 0;
    error_code error;
    co_await asio::async_read(socket, asio::buffer(&number, sizeof number),
                              asio::redirect_error(use_awaitable, error));
    number = boost::endian::big_to_native(number);
    if (error || number > kObjectMax) break;
    const bool good = number == 0 ? co_await discard(socket, flow, UINT64_MAX)
                                  : co_await send(socket, flow, number);
    if (!good) break;
  }
  --served;
}

asio::awaitable<void> accept(tcp::acceptor acceptor, Journal& journal) {
  std::size_t served = 0;
  asio::steady_timer pause(acceptor.get_executor());
  for (;;) {
    error_code error;
    auto socket = co_await acceptor.async_accept(asio::redirect_error(use_awaitable, error));
    if (error) {  // no descriptor, for example: connections wait in the kernel
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(use_awaitable);
      continue;
    }
    if (served >= kServedMax) continue;
    ++served;
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), journal, served),
                   asio::detached);
  }
}

asio::awaitable<void> receive(udp::socket socket, Journal& journal) {
  Flow flow(journal, -1);
  for (;;) {
    error_code error;
    flow.count(co_await socket.async_receive(asio::buffer(chunk()),
                                             asio::redirect_error(use_awaitable, error)));
  }
}

// --- Opening -----------------------------------------------------------------------------------

asio::awaitable<void> bulk(tcp::socket socket, Journal& journal, double from_s, double for_s) {
  asio::steady_timer timer(socket.get_executor(), of(from_s));
  co_await timer.async_wait(use_awaitable);
  Flow flow(journal, socket.native_handle());
  timer.expires_after(of(for_s));
  timer.async_wait([&socket](const error_code& error) {
    if (!error) socket.close();  // octets that the kernel has taken still go out
  });
  if (co_await say(socket, 0)) co_await send(socket, flow, UINT64_MAX);
}

/// Loads all pages of a session. Ends early with the connection.
asio::awaitable<void> load_pages(tcp::socket& socket, Journal& journal) {
  Flow flow(journal, socket.native_handle());
  asio::steady_timer thinking(socket.get_executor(), std::chrono::nanoseconds(0));
  for (int page = 0; page < kPages; ++page) {
    co_await thinking.async_wait(use_awaitable);
    for (const auto octets : kPage) {
      if (!co_await say(socket, octets) || !co_await discard(socket, flow, octets)) co_return;
    }
    thinking.expires_after(kThink);
  }
}

asio::awaitable<void> session(tcp::endpoint server, Journal& journal, std::size_t& open) {
  tcp::socket socket(co_await asio::this_coro::executor);
  error_code error;
  co_await socket.async_connect(server, asio::redirect_error(use_awaitable, error));
  if (!error) co_await load_pages(socket, journal);
  --open;
}

asio::awaitable<void> web(tcp::endpoint server, Journal& journal, double rate) {
  const auto executor = co_await asio::this_coro::executor;
  std::size_t open = 0;
  std::uint64_t refused = 0;
  asio::steady_timer timer(executor, std::chrono::nanoseconds(0));
  for (;;) {
    if (open < kSessionsMax) {
      ++open;
      asio::co_spawn(executor, session(server, journal, open), asio::detached);
    } else {
      fmt::print(stderr, "session not begun, {} are open: {}\n", open, ++refused);
    }
    timer.expires_at(timer.expiry() + of(1 / rate));
    co_await timer.async_wait(use_awaitable);
  }
}

asio::awaitable<void> datagrams(udp::socket socket, Journal& journal, double rate,
                                std::size_t octets) {
  Flow flow(journal, -1);
  asio::steady_timer timer(socket.get_executor(), std::chrono::nanoseconds(0));
  const auto begin = timer.expiry();
  for (std::uint64_t number = 1;; ++number) {
    error_code ignored;  // like a lost datagram
    flow.count(socket.send(asio::buffer(chunk(), octets), 0, ignored));
    timer.expires_at(begin + of(static_cast<double>(number) / rate));
    co_await timer.async_wait(use_awaitable);
  }
}

}  // namespace

void start(asio::io_context& io, Journal& journal, const Settings& settings) {
  const tcp::endpoint tcp_end(settings.address, settings.port);
  const udp::endpoint udp_end(settings.address, settings.port);
  const char* ready = "ready";
  if (settings.role == Role::kListen) {
    auto acceptor = or_say("listen on TCP", tcp_end, [&] { return tcp::acceptor(io, tcp_end); });
    auto socket = or_say("listen on UDP", udp_end, [&] { return udp::socket(io, udp_end); });
    asio::co_spawn(io, accept(std::move(acceptor), journal), asio::detached);
    asio::co_spawn(io, receive(std::move(socket), journal), asio::detached);
    ready = "listening";
  } else if (settings.role == Role::kBulk) {
    for (std::size_t i = 0; i < settings.connections; ++i) {
      tcp::socket socket(io);
      or_say("connect to TCP", tcp_end, [&] { socket.connect(tcp_end); });
      asio::co_spawn(io, bulk(std::move(socket), journal, settings.from_s, settings.for_s),
                     asio::detached);
    }
    ready = "connected";
  } else if (settings.role == Role::kWeb) {
    asio::co_spawn(io, web(tcp_end, journal, settings.rate), asio::detached);
  } else {
    udp::socket socket(io);
    or_say("send to UDP", udp_end, [&] { socket.connect(udp_end); });
    asio::co_spawn(io, datagrams(std::move(socket), journal, settings.rate, settings.octets),
                   asio::detached);
  }
  fmt::print(stderr, "{}\n", ready);
}

}  // namespace simco::cross
