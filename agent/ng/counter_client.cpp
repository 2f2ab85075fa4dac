// One request at a time, made of the questions that wait.
#include "agent/ng/counter_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <exception>
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
                                                  std::span<const PolicyRuleId> pids, Instant due) {
  boost::beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_at(due);
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

void CounterClient::ask(std::vector<PolicyRuleId> pids, Handler handler) {
  auto question = std::make_shared<Question>(io_);
  question->left = std::move(pids);
  question->handler = std::move(handler);
  wait_for_answer(question);
  if (std::exchange(working_, true)) return;
  asio::co_spawn(io_, work(), [](const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

/// Lets a question wait for its turn, and no longer than it may.
void CounterClient::wait_for_answer(const QuestionPtr& question) {
  question->due = std::chrono::steady_clock::now() + kCountersPatience;
  question->timer.expires_at(question->due);
  question->timer.async_wait([this, question](const error_code& error) {
    if (!error && question->due <= std::chrono::steady_clock::now()) give_up(*question);
  });
  waiting_.push_back(question);
}

void CounterClient::give_up(Question& question) const {
  if (!question.handler) return;
  question.timer.cancel();
  std::exchange(question.handler, nullptr)(failed(where_, "no answer in time"));
}

asio::awaitable<void> CounterClient::work() {
  // Those who ask in the same turn of the loop are asked for together.
  co_await asio::post(io_, asio::use_awaitable);
  while (!waiting_.empty()) {
    auto parts = take_parts();
    if (parts.empty()) continue;
    std::vector<PolicyRuleId> pids;
    auto due = Instant::min();  // a question that cannot wait does not end it for the others
    for (const auto& [question, count] : parts) {
      const auto first = question->left.end() - static_cast<std::ptrdiff_t>(count);
      pids.insert(pids.end(), first, question->left.end());
      due = std::max(due, question->due);
    }
    const auto counted = co_await ask_once(where_, pids, due);
    for (auto& part : parts) answer(std::move(part), counted);
  }
  working_ = false;
}

/// Takes from the questions that wait what one request may ask, and leaves out those that are
/// overdue. Only a question that is longer than a request is divided.
std::vector<CounterClient::Part> CounterClient::take_parts() {
  std::vector<Part> parts;
  const auto now = std::chrono::steady_clock::now();
  for (auto room = agent::kInspectedRulesMax; room > 0 && !waiting_.empty();) {
    const auto question = waiting_.front();
    if (question->due <= now) give_up(*question);
    const auto size = question->left.size();
    if (question->handler && size > room && size <= agent::kInspectedRulesMax) break;
    waiting_.pop_front();
    if (!question->handler) continue;
    const auto count = std::min(size, room);
    parts.push_back({question, count});
    room -= count;
  }
  return parts;
}

void CounterClient::answer(Part part, const CallController::Counted& counted) {
  auto& [question, count] = part;
  if (!question->handler) return;
  if (counted) {
    for (; count > 0; --count) {
      const auto found = counted->find(question->left.back());
      if (found != counted->end()) question->counted.insert(*found);
      question->left.pop_back();
    }
    if (!question->left.empty()) return wait_for_answer(question);
  }
  question->timer.cancel();
  const auto handler = std::exchange(question->handler, nullptr);
  counted ? handler(std::move(question->counted)) : handler(counted);
}

}  // namespace simco::ng
