#include "agent/ng/counter_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <span>
#include <utility>

#include "agent/limits.hpp"
#include "agent/ng/limits.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::ng {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

std::unexpected<std::string> failed(const Tcp::endpoint& where, const std::string& why) {
  return std::unexpected(net::endpoint_text(where.address().to_string(), where.port()) + ": " +
                         why);
}

asio::awaitable<CallController::Counted> ask_once(Tcp::endpoint where,
                                                  std::span<const PolicyRuleId> pids) {
  boost::beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_after(kCountersPatience);
  auto [connecting] = co_await stream.async_connect(where, kAsTuple);
  if (connecting) co_return failed(where, connecting.message());
  http::request<http::empty_body> request(http::verb::get, agent::inspection_path(pids), 10);
  request.set(http::field::host, where.address().to_string());
  auto [writing, written] = co_await http::async_write(stream, request, kAsTuple);
  if (writing) co_return failed(where, writing.message());
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kCountersOctetsMax);
  auto [reading, read] = co_await http::async_read(stream, buffer, parser, kAsTuple);
  if (reading) co_return failed(where, reading.message());
  const auto& response = parser.get();
  if (response.result() != http::status::ok) {
    co_return failed(where, fmt::format("HTTP status {}", response.result_int()));
  }
  auto counted = agent::read_inspection(response.body());
  if (!counted) co_return failed(where, counted.error());
  co_return counted;
}

}  // namespace

asio::awaitable<CallController::Counted> ask_what_is_counted(Tcp::endpoint where,
                                                             std::vector<PolicyRuleId> pids) {
  agent::RuleTraffics result;
  for (std::span<const PolicyRuleId> left = pids; !left.empty();) {
    const auto some = left.first(std::min(left.size(), agent::kInspectedRulesMax));
    left = left.subspan(some.size());
    auto counted = co_await ask_once(where, some);
    if (!counted) co_return counted;
    result.merge(*counted);
  }
  co_return result;
}

}  // namespace simco::ng
