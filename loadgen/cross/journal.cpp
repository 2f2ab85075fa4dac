#include "loadgen/cross/journal.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdio>
#include <vector>

namespace simco::cross {
namespace {

constexpr std::chrono::seconds kPeriod{1};

/// The kernel's view of a TCP connection, as members of a JSON object; empty if there is none.
std::string kernel_view(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (socket < 0 || ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return fmt::format(R"(,"cwnd":{},"rtt_us":{},"retransmitted":{})", info.tcpi_snd_cwnd,
                     info.tcpi_rtt, info.tcpi_total_retrans);
}

}  // namespace

Flow::Flow(Journal& journal, int socket)
    : journal_(journal), number_(journal.next_++), socket_(socket) {
  journal_.flows_.insert(this);
}

Flow::~Flow() {
  write();
  journal_.flows_.erase(this);
}

void Flow::write() {
  if (octets_ == written_) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  fmt::print("{{\"at_ns\":{},\"flow\":{},\"octets\":{}{}}}\n",
             std::chrono::nanoseconds(now).count(), number_, octets_ - written_,
             kernel_view(socket_));
  written_ = octets_;
}

boost::asio::awaitable<void> Journal::run() {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, kPeriod);
  for (;;) {
    co_await timer.async_wait(boost::asio::use_awaitable);
    finish();
    timer.expires_at(timer.expiry() + kPeriod);
  }
}

void Journal::finish() {
  std::vector<Flow*> flows(flows_.begin(), flows_.end());
  std::ranges::sort(flows, {}, [](const Flow* flow) { return flow->number_; });
  for (Flow* flow : flows) flow->write();
  std::fflush(stdout);
}

}  // namespace simco::cross
