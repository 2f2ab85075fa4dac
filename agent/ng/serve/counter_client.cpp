// One request at a time, made of the questions that wait.
#include "agent/ng/serve/counter_client.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <exception>
#include <span>
#include <utility>

#include "agent/limits.hpp"
#include "agent/ng/call/limits.hpp"
#include "agent/ng/serve/limits.hpp"
#include "simco/http/client.hpp"

namespace simco::ng {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

std::unexpected<std::string> failed(const net::HostPort& where, const std::string& why) {
  return std::unexpected(net::endpoint_text(where.host, where.port) + ": " + why);
}

asio::awaitable<Counted> ask_once(const net::HostPort& where, std::span<const PolicyRuleId> pids,
                                  Instant due) {
  const auto patience = due - std::chrono::steady_clock::now();
  const auto body =
      co_await http::async_get(where, agent::inspection_path(pids), {patience, kCountersOctetsMax});
  if (!body) co_return failed(where, body.error());
  auto counted = agent::read_inspection(*body);
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
  // Questions of the same turn of the loop are sent together.
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

/// Takes waiting questions up to the limit of a request, and leaves out overdue ones. Only a
/// question that is longer than a request is divided.
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

void CounterClient::answer(Part part, const Counted& counted) {
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
